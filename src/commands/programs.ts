/** What programs are for. What is in no list is not known, and a person is asked. */

function set(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** Those that only look, whatever they are given; those with an exception have it in `reader.ts`. */
export const readers = set(
  ": [ arch b2sum base32 base64 basename cat cksum cmp column comm cut date df diff dirname du echo egrep expand expr " +
    "factor false fgrep file find fmt fold getconf grep groups head hexdump hostname id jq join locale ls md5sum nl " +
    "nproc numfmt od paste pathchk pr printenv printf ps pwd readlink realpath rev rg sed seq sha1sum sha224sum " +
    "sha256sum sha384sum sha512sum sleep sort stat strings sum tac tail test tr tree true tsort tty type uname " +
    "unexpand uniq uptime wc which whoami xxd",
);

/** Words of the shell itself that only order other commands. */
export const shellWords = set(
  "break builtin command continue declare exit export let local read readonly return shift typeset unset wait",
);

/** Words of the shell, and what is built into it, that work arguments out as names with subscripts: those may run commands. */
export const evaluators = set("[ declare export let local printf read readonly test typeset unset wait");

/** Those whose arguments are texts, not paths. */
export const textual = set(": echo expr factor false printf seq sleep test true type [ which");

/** Those whose first operand is a pattern or a program of their own, not a path. */
export const patternFirst = set("egrep fgrep grep jq rg sed tr");

export const deleters = set("rm rmdir shred srm trash trash-put unlink wipe");

export const writers = set(
  "7z 7za ar bunzip2 bzip2 chattr chgrp chmod chown cp cpio csplit dd gunzip gzip install ln lz4 mkdir mkfifo mknod " +
    "mktemp mv patch rename rsync setfacl split sponge tar tee touch truncate unrar unxz unzip unzstd xz zip zstd",
);

/** Those that run what a project holds, or what their arguments say: its scripts, hooks, plugins, configuration. */
export const runners = set(
  "ansible ansible-playbook ant awk bazel bb bear black buck bun bundle cabal cargo cc ccache clang clang++ clj cmake " +
    "composer conan ctest dart deno docker docker-compose dotnet dune ed elixir elm emacs erl esbuild eslint ex expect " +
    "fpc g++ gawk gcc gdb gem gfortran ghc git gmake go gradle gradlew groovy guile helm hg hugo iex iverilog java " +
    "javac jekyll jest julia just kotlin kotlinc kubectl ld leiningen lein lldb ltrace lua luajit make mawk meson mix " +
    "mocha mono mvn mvnw mypy nano nawk next ninja nix nix-build nix-shell node nodemon nox npm npx nvim ocaml octave " +
    "perl php pip pip3 pipenv pipx pnpm podman poetry prettier psql pypy pypy3 pytest python python2 python3 R rake rails " +
    "Rscript ruby ruff runghc rustc rustup rye sbt scala scons sqlite3 stack strace svn swift swiftc task tclsh tcc " +
    "terraform tox tsc ts-node tsx turbo uv uvx vagrant vi vim vite vitest webpack wine yarn zig",
);

/** Those that talk to other machines: data leaves in their arguments alone (B40). */
export const talkers = set(
  "aria2c aws az curl dig ftp gcloud gh gsutil host http httpie lftp links lynx nc ncat netcat nmap nslookup openssl " +
    "ping ping6 rclone rsh scp sftp socat ssh ssh-copy-id telnet tftp traceroute w3m wget whois",
);

/** Whole command lines that tell a version and run nothing of a project. */
export const versions = set("clang gcc node perl python python3 ruby");

/** Where programs of the machine lie: a path into one of these means the program of that name. */
export const programFolders = /^\/(?:usr\/(?:local\/)?|opt\/homebrew\/)?s?bin\/$/;
