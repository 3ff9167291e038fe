import type { FailureClass } from "./classify-error.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Codes and names that say what can be done, lower case. One list per class; sources: the clients' and servers' documents. */
const KNOWN: Readonly<Record<FailureClass, readonly string[]>> = {
  retryable: words(`
    econnrefused econnreset econnaborted epipe etimedout esockettimedout enotfound eai_again enetunreach enetdown ehostunreach
    ehostdown eaddrnotavail emfile enfile err_network err_stream_premature_close err_http2_stream_error
    und_err_connect_timeout und_err_headers_timeout und_err_body_timeout und_err_socket und_err_connect
    und_err_res_content_length_mismatch und_err_req_retry
    rate_limit_exceeded rate_limit_error overloaded_error server_error api_error internal_server_error timeout_error
    service_unavailable engine_overloaded slow_down tokens_exceeded requests_exceeded
    unavailable internal deadline_exceeded resource_exhausted
    throttlingexception toomanyrequestsexception serviceunavailableexception modelnotreadyexception internalserverexception
    apiconnectionerror apiconnectiontimeouterror timeouterror fetcherror nodetimeouterror
    model_rate_limit
    sqlite_busy sqlite_locked sqlite_protocol`),
  recoverable: words(`
    context_length_exceeded context_overflow request_too_large string_above_max_length contextoverflowerror
    graph_recursion_limit graphrecursionerror output_parsing_failure outputparserexception
    aborterror apiuseraborterror modelaborterror abort_err und_err_aborted`),
  fatal: words(`
    invalid_api_key authentication_error permission_error permission_denied unauthenticated insufficient_quota billing_error
    billing_hard_limit_reached account_deactivated organization_deactivated model_not_found not_found_error
    invalid_request_error invalid_argument failed_precondition unsupported_value unsupported_parameter content_policy_violation
    accessdeniedexception unrecognizedclientexception validationexception resourcenotfoundexception
    model_authentication invalid_tool_results invalid_prompt_input message_coercion_failure
    invalid_graph_node_return_value invalid_concurrent_graph_update unreachable_node missing_checkpointer multiple_subgraphs
    invalid_chat_history invalidupdateerror emptyinputerror graphvalueerror unreachablenodeerror stategraphinputerror
    eacces eperm erofs enospc edquot
    cert_has_expired depth_zero_self_signed_cert self_signed_cert_in_chain unable_to_verify_leaf_signature
    err_tls_cert_altname_invalid
    sqlite_full sqlite_corrupt sqlite_notadb sqlite_readonly sqlite_cantopen`),
};

const CLASSES: ReadonlyMap<string, FailureClass> = new Map(
  (Object.keys(KNOWN) as FailureClass[]).flatMap((name) => KNOWN[name].map((code) => [code, name] as const)),
);

/** PostgreSQL SQLSTATE classes (first two characters) and single states, where they differ from their class. */
const SQLSTATES: readonly (readonly [RegExp, FailureClass])[] = [
  [/^53100$/, "fatal"], // disk full
  [/^(08|40|53|57)/, "retryable"], // connection, rollback (deadlock, serialisation), resources, operator intervention
  [/^(55P03|25006)$/, "retryable"], // lock not available; read-only while a standby takes over
  [/^58/, "retryable"], // system error outside the database
  [/^(0A|22|23|25|28|2[BDF]|3[DF]|42|44|F0|XX)/, "fatal"], // data, constraints, authentication, syntax, corruption
];

/** What a code says, undefined when nothing. Letter case does not matter. */
export function classOfCode(code: string): FailureClass | undefined {
  const known =
    CLASSES.get(code.toLowerCase()) ?? CLASSES.get(code.toLowerCase().replace(/^(sqlite_[a-z]+)_.*/, "$1"));
  if (known) return known;
  // Digits first, or the few classes that begin with a letter: "EPIPE" has five characters too.
  if (/^(\d[0-9A-Z]|F0|XX)[0-9A-Z]{3}$/.test(code)) {
    return SQLSTATES.find(([pattern]) => pattern.test(code))?.[1];
  }
  return undefined;
}
