-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs once in each new state, before the script: turns functions of runtime.py into real Lua functions.
local prepare, as_function, pipes, temporary = ...
local error, pcall, select, setmetatable, tostring, type = error, pcall, select, setmetatable, tostring, type
local io, getmetatable = io, debug.getmetatable
local loaders = package.searchers or package.loaders

python = nil
package.loaded.python = nil

local level

local function finish(message, ...)
   if message then error(message, level) end
   return ...
end

local function wrap(callable)
   local f = as_function(callable)
   return function(...) return finish(f(...)) end
end

-- The level of the caller of a wrapped function depends on how this Lua treats tail calls.
for candidate = 2, 4 do
   level = candidate
   local function wrapped(...) return finish(...) end
   local _, text = pcall(function() local result = wrapped("x") return result end)
   if text ~= "x" then break end
end

-- A table that Python reads and writes: __index is an object of Python, which needs no call of a Lua function.
local function proxy(reader, write, fields)
   local meta = fields or {}
   meta.__index = reader
   if write then
      local f = as_function(write)
      meta.__newindex = function(self, name, value)
         local message = f(name, value)
         if message then error(message, 2) end
      end
   end
   return setmetatable({}, meta)
end

-- Before a C module is loaded, Python makes Lua's functions global, or returns the reason why that is impossible.
prepare = as_function(prepare)
for i = 3, 4 do
   local original = loaders[i]
   if original then
      loaders[i] = function(name)
         local reason = prepare(name, i == 4, package.cpath)
         if reason then return reason end
         return original(name)
      end
   end
end
local loadlib = package.loadlib
if loadlib then
   package.loadlib = function(path, symbol)
      local reason = prepare(path)
      if reason then return nil, reason, "open" end
      return loadlib(path, symbol)
   end
end

-- Python starts the commands: those that C starts would ignore the signals that Python ignores.
local popen, execute

local function start()
   popen, execute = pipes(level)(io, getmetatable(io.stdout).__index, error, select, setmetatable, tostring, type)
end

function io.popen(...)
   if not popen then start() end
   return popen(...)
end

function os.execute(...)
   if not execute then start() end
   return execute(...)
end

-- lupa builds Lua, but not LuaJIT, without the functions that need POSIX.
if not jit then
   local temporary = as_function(temporary)

   function os.tmpname() return temporary() end
end

local getinfo = debug.getinfo

return wrap, proxy,
   function(defined) return getinfo(defined, "S").linedefined end
