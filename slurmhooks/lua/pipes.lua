-- SPDX-License-Identifier: GPL-2.0-or-later
-- io.popen and os.execute. Runs when a script starts its first command. A pipe is a real Lua file, so that all functions
-- for files work; only the start of the command and close() are implemented here.
local spawn, started, wait, execute, level, version = ...
local first = version == "5.1" or version:find("^luajit")
local old = first or version == "5.2"

-- The script may have replaced global functions by now, so Lua's own ones are arguments.
return function(io, methods, error, select, setmetatable, tostring, type)
   local kind_of, open, default_output = io.type, io.open, io.output
   local pipes = setmetatable({}, { __mode = "k" })

   local function finish(pipe)
      local number = pipes[pipe]
      pipes[pipe] = nil
      return number
   end

   local function closer(close, implied)
      return function(...)
         local file = ...
         if implied and select("#", ...) == 0 then file = default_output() end
         if kind_of(file) == "closed file" then error("attempt to use a closed file", 2) end
         local number = file ~= nil and finish(file)
         if not number then
            if kind_of(file) then return close(...) end
            local kind = select("#", ...) == 0 and "no value" or type(file)
            error("bad argument #1 to 'close' (FILE* expected, got " .. kind .. ")", 2)
         end
         close(file)
         local how, code = wait(number)
         if first then return true end
         if how == "exit" and code == 0 then return true, how, code end
         return nil, how, code
      end
   end

   methods.close = closer(methods.close, false)
   io.close = closer(io.close, true)

   local function text(name, position, value, count)
      local kind = count < position and "no value" or type(value)
      if kind ~= "string" and kind ~= "number" then
         error("bad argument #" .. position .. " to '" .. name .. "' (string expected, got " .. kind .. ")", level + 1)
      end
      return tostring(value)
   end

   local function run(...)
      local command = ...
      if command == nil then return first and 1 or true end
      local how, code, status, message = execute(text("execute", 1, command, select("#", ...)))
      if first then return status end
      if message then return nil, message, code end
      if how == "exit" and code == 0 then return true, how, code end
      return nil, how, code
   end

   return function(...)
      local command, mode = ...
      local count = select("#", ...)
      command = text("popen", 1, command, count)
      mode = mode == nil and "r" or text("popen", 2, mode, count)
      if old and not mode:find("^[rw]e?$") then return nil, command .. ": Invalid argument", 22 end
      if not old and mode ~= "r" and mode ~= "w" then
         error("bad argument #2 to 'popen' (invalid mode)", level)
      end
      mode = mode:sub(1, 1)
      local number, path, message, code = spawn(command, mode == "w")
      if not number then return nil, command .. ": " .. message, code end
      local file, reason, errno = open(path, mode)
      started(number)
      if not file then return nil, reason, errno end
      pipes[file] = number
      return file
   end, run
end
