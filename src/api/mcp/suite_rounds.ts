/** Tools of the protocol's own test suite that want something of the client first, in rounds (SEP-2322). */
import { createToken } from "../../door/token.ts";
import { peek, peekText } from "../../peek.ts";
import {
  type CallToolResult,
  createRequestStateCodec,
  inputRequired,
  type InputRequiredResult,
  ProtocolError,
  type ServerContext,
} from "../../mcp/sdk_server.ts";
import { choicesForm, consentForm, defaultsForm, textForm } from "./suite_forms.ts";

type Answer = CallToolResult | InputRequiredResult;
type Asked = NonNullable<Parameters<typeof inputRequired>[0]["inputRequests"]>;

/** What a client can be asked for. */
const asks = {
  form: (message: string, requestedSchema: object) => ({
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema },
  }),
  sample: (text: string) => ({
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 },
  }),
  roots: () => ({ method: "roots/list", params: {} }),
} as const;

const invalidParams = -32_602;

type State = { readonly round: number };
let codec: Promise<ReturnType<typeof createRequestStateCodec<State>>> | undefined;

/** Signs what goes to the client and comes back, for as long as the process lives. */
function states(): NonNullable<typeof codec> {
  return codec ??= createToken().then((key) => createRequestStateCodec<State>({ key }));
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** The content of a form that the client sent back filled in; undefined if it did not. */
function filledIn({ mcpReq: { inputResponses } }: ServerContext, key: string, field: string): unknown {
  const given = inputResponses?.[key];
  return peekText(given, "action") === "accept" ? peek(given, "content", field) : undefined;
}

async function want(requests: object, round?: number): Promise<InputRequiredResult> {
  return inputRequired({
    inputRequests: requests as Asked,
    ...(round === undefined ? {} : { requestState: await (await states()).mint({ round }) }),
  });
}

/** The round that the client is in; 0 if it sent no state. Refuses a state that is not ours. */
async function roundOf(context: ServerContext): Promise<number> {
  const state = context.mcpReq.requestState<string>();
  if (state === undefined) return 0;
  try {
    return (await (await states()).verify(state, context)).round;
  } catch {
    throw new ProtocolError(invalidParams, "The state of this request is not ours, or too old");
  }
}

async function askConsent(context: ServerContext): Promise<Answer> {
  const round = await roundOf(context);
  const isFilled = filledIn(context, "confirm", "ok") !== undefined;
  return round === 1 && isFilled
    ? say("state-ok")
    : await want({ confirm: asks.form("Is that so?", consentForm) }, 1);
}

const nameForm = asks.form("What is your name?", textForm("name"));

type Given = { readonly [name: string]: unknown };
type RoundTool = (context: ServerContext, given: Given) => Promise<Answer>;

/** Asks for one thing, and says what came. */
function once(requestOf: (given: Given) => object): RoundTool {
  return async ({ mcpReq: { inputResponses } }, given) => {
    const answer = inputResponses?.["asked"];
    return answer === undefined ? await want({ asked: requestOf(given) }) : say(JSON.stringify(answer));
  };
}

/** The tools, by their names: called again with what they asked for, they go on. */
export const roundTools: { readonly [name: string]: RoundTool } = {
  test_sampling: once(({ prompt }) => asks.sample(String(prompt))),
  test_elicitation: once(({ message }) => asks.form(String(message), textForm("username"))),
  test_elicitation_sep1034_defaults: once(() => asks.form("Are these right?", defaultsForm)),
  test_elicitation_sep1330_enums: once(() => asks.form("Which do you choose?", choicesForm)),
  test_input_required_result_elicitation: async (context) => {
    const name = filledIn(context, "user_name", "name");
    return typeof name === "string" ? say(`Hello, ${name}!`) : await want({ user_name: nameForm });
  },
  test_input_required_result_sampling: async ({ mcpReq: { inputResponses } }) => {
    const text = peekText(inputResponses?.["capital_question"], "content", "text");
    return text === ""
      ? await want({ capital_question: asks.sample("What is the capital of France?") })
      : say(text);
  },
  test_input_required_result_list_roots: async ({ mcpReq: { inputResponses } }) => {
    const roots = peek(inputResponses?.["client_roots"], "roots");
    return roots === undefined ? await want({ client_roots: asks.roots() }) : say(JSON.stringify(roots));
  },
  test_input_required_result_request_state: askConsent,
  test_input_required_result_tampered_state: askConsent,
  test_input_required_result_multiple_inputs: async (context) => {
    const { inputResponses = {} } = context.mcpReq;
    const requests = {
      user_name: nameForm,
      greeting: asks.sample("Greet somebody"),
      client_roots: asks.roots(),
    };
    const isComplete = Object.keys(requests).every((key) => key in inputResponses);
    return await roundOf(context) === 1 && isComplete ? say("All is there") : await want(requests, 1);
  },
  test_input_required_result_multi_round: async (context) => {
    const round = await roundOf(context);
    const name = filledIn(context, "step1", "name");
    const color = filledIn(context, "step2", "color");
    if (round === 2 && color !== undefined) return say(`Likes ${String(color)}`);
    if (round === 1 && name !== undefined) {
      return await want({ step2: asks.form("Which color do you like?", textForm("color")) }, 2);
    }
    return await want({ step1: nameForm }, 1);
  },
  test_input_required_result_capabilities: async ({ mcpReq: { envelope } }) => {
    const able = peek(envelope, "io.modelcontextprotocol/clientCapabilities");
    const requests = {
      ...(peek(able, "sampling") === undefined ? {} : { greeting: asks.sample("Greet somebody") }),
      ...(peek(able, "elicitation") === undefined ? {} : { user_name: nameForm }),
      ...(peek(able, "roots") === undefined ? {} : { client_roots: asks.roots() }),
    };
    return Object.keys(requests).length === 0 ? say("You can do nothing of that") : await want(requests);
  },
  test_missing_capability: async () => await want({ question: asks.sample("What is needed here?") }),
  test_streaming_elicitation: async (context) => {
    const name = filledIn(context, "user_name", "name");
    return typeof name === "string" ? say(name) : await want({ user_name: nameForm });
  },
};

/** The context that a prompt is to use; undefined if it must be asked for. */
export function promptContext(context: ServerContext): string | undefined {
  const given = filledIn(context, "user_context", "context");
  return typeof given === "string" ? given : undefined;
}

/** Asks for it. */
export async function wantPromptContext(): Promise<InputRequiredResult> {
  return await want({ user_context: asks.form("Which context is to be used?", textForm("context")) });
}
