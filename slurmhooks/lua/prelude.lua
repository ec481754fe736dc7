-- SPDX-License-Identifier: GPL-2.0-or-later
-- Run once in each new state, before anything of a site: what runtime.py gives to scripts as real functions of Lua.
local prepare, as_function, pipes, temporary = ...
local error, pcall, select, setmetatable, tostring, type = error, pcall, select, setmetatable, tostring, type
local io, getmetatable = io, debug.getmetatable
local loaders = package.searchers or package.loaders

python = nil
package.loaded.python = nil

local level

local function finish(wrong, ...)
   if wrong then error(wrong, level) end
   return ...
end

local function wrap(callable)
   local f = as_function(callable)
   return function(...) return finish(f(...)) end
end

-- Where the caller of a wrapped function stands depends on what this Lua keeps of a tail call.
for candidate = 2, 4 do
   level = candidate
   local function wrapped(...) return finish(...) end
   local _, text = pcall(function() local result = wrapped("x") return result end)
   if text ~= "x" then break end
end

-- A table that is read and written by Python: item access of an object, which costs no call of a Lua function.
local function proxy(reader, write, fields)
   local meta = fields or {}
   meta.__index = reader
   if write then
      local f = as_function(write)
      meta.__newindex = function(self, name, value)
         local wrong = f(name, value)
         if wrong then error(wrong, 2) end
      end
   end
   return setmetatable({}, meta)
end

-- C modules: Python is asked first, which makes Lua's functions known to them or says why it cannot.
prepare = as_function(prepare)
for i = 3, 4 do
   local original = loaders[i]
   if original then
      loaders[i] = function(name)
         local why = prepare(name, i == 4, package.cpath)
         if why then return why end
         return original(name)
      end
   end
end
local loadlib = package.loadlib
if loadlib then
   package.loadlib = function(path, symbol)
      local why = prepare(path)
      if why then return nil, why, "open" end
      return loadlib(path, symbol)
   end
end

-- lupa builds all but LuaJIT without what needs POSIX.
if not jit then
   local popen

   function io.popen(...)
      popen = popen or pipes(level)(io, getmetatable(io.stdout).__index, error, select, setmetatable, tostring, type)
      return popen(...)
   end

   local temporary = as_function(temporary)

   function os.tmpname() return temporary() end
end

-- JSON: the site's module, and ours where there is none, or where it needs a C module that this Lua cannot load.
local function serve_json(load)
   load = as_function(load)
   local by_path = loaders[2]
   loaders[2] = function(name)
      if name ~= "json" then return by_path(name) end
      local found = by_path(name)
      if type(found) ~= "function" then return load() end
      return function(...)
         local ok, module = pcall(found, ...)
         if ok then return module end
         return load()(...)
      end
   end
end

local getinfo = debug.getinfo

return wrap, proxy, serve_json,
   function(defined) return getinfo(defined, "S").linedefined end
