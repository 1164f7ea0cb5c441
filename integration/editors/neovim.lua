-- Edits a job in Neovim as a person would, and prints what the editor shows, a
-- line of JSON for each step. The setup of docs/editors.md has run before.
local function say(step, shown) io.stdout:write(vim.json.encode({ step = step, shown = shown }), "\n") end
local function wait(condition) return vim.wait(30000, condition, 20) end

vim.cmd("edit job.hcl")
wait(function() local c = vim.lsp.get_client_by_id(ndc_client); return c and c.initialized end)

local function ask(method, line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  local answers = vim.lsp.buf_request_sync(0, method, vim.lsp.util.make_position_params(), 30000)
  return answers[ndc_client].result
end
local function find(text)
  local line, column = unpack(vim.fn.searchpos("\\V" .. text, "nw"))
  return line, column - 1
end
local function messages()
  return vim.tbl_map(function(d) return { line = d.lnum, from = d.col, to = d.end_col, code = d.code } end, vim.diagnostic.get(0))
end

-- Predictions above the job.
wait(function()
  local lenses = vim.lsp.codelens.get(0)
  return #lenses > 0 and vim.tbl_count(vim.tbl_filter(function(l) return l.command end, lenses)) == #lenses
end)
say("lens", vim.tbl_map(function(l) return l.command.title end, vim.lsp.codelens.get(0)))

-- What words mean, and where names are given.
say("hover", ask("textDocument/hover", find("global_batch_size")).contents.value)
local line, column = find("model.llama3")
say("definition", ask("textDocument/definition", line, column + 8)[1].range.start.line)
line, column = find("catalog.model")
local entry = ask("textDocument/definition", line, column + 16)[1].uri
say("entry", vim.fn.readfile(vim.uri_to_fname(entry))[1])

-- A mistake, what is offered instead, and its mending.
line = find("precision ")
vim.api.nvim_buf_set_lines(0, line - 1, line, false, { '    precison = "bf16"' })
wait(function() return #vim.diagnostic.get(0) > 0 end)
say("mistake", messages())
local params = vim.lsp.util.make_range_params()
params.range = { start = { line = line - 1, character = 4 }, ["end"] = { line = line - 1, character = 12 } }
params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(0, line - 1) }
local action = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 30000)[ndc_client].result[1]
vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
say("mended", vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1])
wait(function() return #vim.diagnostic.get(0) == 0 end)
say("well", messages())

-- Completion through the editor's own function, in a file that does not parse.
vim.api.nvim_buf_set_lines(0, line - 1, line, false, { "    precision = \"" })
vim.o.virtualedit = "onemore"
vim.api.nvim_win_set_cursor(0, { line, 17 })
local offered
vim.fn.complete = function(_, items) offered = items end -- the menu, which has no screen
vim.fn.mode = function() return "i" end -- as if one was typing
vim.lsp.omnifunc(1, "")
wait(function() return offered end)
say("completion", vim.tbl_map(function(i) return i.word end, offered or {}))

-- Formatting keeps the cursor's line.
vim.api.nvim_buf_set_lines(0, line - 1, line, false, { '   precision="bf16" # 𝛁' })
vim.lsp.buf.formatting_sync(nil, 30000)
say("formatted", vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1])
vim.lsp.stop_client(ndc_client)
wait(function() return vim.lsp.client_is_stopped(ndc_client) end)
say("stopped", vim.lsp.client_is_stopped(ndc_client))
vim.cmd("qall!")
