/**
 * Preset dictionary of codec 2: what small stored texts of an agent have in common, most frequent last. Part of the stored format: never
 * edit it, add a new one with a new codec.
 */
export const DICTIONARY_1: Buffer = Buffer.from(
  [
    "the of and to in is that for it with as was on are be this from at by an or not have which can will all has been if error result",
    " function return const import export class string number true false null undefined value type name file path line code data",
    '"properties","required","description","title","enum","items","default","format","object","array","string","number","boolean"',
    ',2,\\"role\\":\\"user\\",\\"content\\":\\"\\n\\n## \\n- **\\n1. https://www.example.com/ http://localhost /home/ /tmp/ src/ .ts .js .json .md .py\\n',
    '"lc_agent_name","ls_integration","langgraph_api_url","graph_id","assistant_id","user_id","run_id","run_attempt","langgraph_host",',
    '"langchain_create_agent","ls_agent_type","root","subagent","created_by","system","langgraph_version","langgraph_plan",',
    '"counters_since_delta_snapshot","delta_writes_versioned",true,"lg_name","Command","graph","update","resume","goto","id","value",',
    '"HumanMessage","SystemMessage","ToolMessageChunk","AIMessageChunk","RemoveMessage","tool_call_chunks","index",3,0,"contentBlocks",',
    '"content",2,1,"type","text","text",2,1,"type","tool_use","input","signature","thinking","annotations",2,0,"reasoning",',
    '"model_provider","openai","anthropic","system_fingerprint","service_tier","finish_reason","tool_calls","stop","logprobs",null,0,',
    '"model_name","gpt-4o-mini","claude-","usage",1,"prompt_tokens",3,"completion_tokens",3,"total_tokens",3,"tokenUsage",1,"promptTokens",3,',
    '"completionTokens",3,"totalTokens",3,"input_token_details",1,"audio",3,0,"cache_read",3,0,0,"output_token_details",1,"reasoning",3,0,0,',
    '"additional_kwargs",1,0,"response_metadata",1,0,"","content,tool_calls,additional_kwargs,response_metadata,invalid_tool_calls",0',
    '"response_metadata",1,0,"tool_calls",2,0,"invalid_tool_calls",2,0,"","content,additional_kwargs,response_metadata",0',
    '"status","success","tool_call_id","call_","artifact",2,"","status,name,content,tool_call_id,additional_kwargs,response_metadata",0',
    '"content","","additional_kwargs",1,0,"response_metadata",1,0,"tool_calls",2,1,"name","","args",1,0,"type","tool_call","id","call_",0,0,',
    '"invalid_tool_calls",2,0,"usage_metadata",1,"input_tokens",3,1"output_tokens",3,1"total_tokens",3,1,0,',
    '0,18,"ToolMessage","18,"AIMessage","",true,15,"18,"HumanMessage","",true,false,4,false,15,"0,18,"AIMessage","run-',
    '1,"node","tools","args",1,"messages",15,"jumpTo",4,"lg_tool_call",1,"name","args","id","type","tool_call",0,0,0,',
    '1,"v",3,4,"ts","202","versions",1,"__start__","00000000","messages","00000000","branch:to:model_request","00000000","branch:to:tools",',
    '"__pregel_tasks","jumpTo","structuredResponse","_longhaulTask","_longhaulMemory","_longhaulData","_longhaulProgress","_longhaulLoops",',
    '"_longhaulBudget","_longhaulRun","seen",1,"__input__",1,0,"__start__",1,"__start__","0000000","model_request",1,"branch:to:model_request",',
    '"tools",1,"branch:to:tools","__interrupt__",0,"values",2,"messages",0,"meta",1,"source","input","step",3,-1,"parents",1,0,"source","loop","step",3,',
    '0,15,"15,"16,"17,"',
  ].join(""),
  "utf8",
);
