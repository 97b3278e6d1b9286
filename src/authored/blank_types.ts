/** The only door to `amaro`: a bundler gives a package in CommonJS its names where they are asked for by name, as here. */
export { transformSync } from "amaro";
