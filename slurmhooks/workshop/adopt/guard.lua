-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs before a script that is tried out: what would start a program, end the process or change a file raises an error,
-- and time and chance are the same in all trials.
local stop, now = ...
local error, pcall, setmetatable, type = error, pcall, setmetatable, type

local stops = 0
local function stopped(name)
   return function()
      stops = stops + 1
      stop(name)
      error(name .. " is not run", 2)
   end
end

for _, name in ipairs { "execute", "exit", "remove", "rename", "tmpname", "setlocale" } do
   os[name] = stopped("os." .. name)
end
for _, name in ipairs { "popen", "output", "tmpfile" } do
   io[name] = stopped("io." .. name)
end

local time, date = os.time, os.date
function os.time(of, ...) return of == nil and now or time(of, ...) end
function os.date(format, of, ...) return date(format or "%c", of or now, ...) end
os.clock = function() return 0 end
math.randomseed(1)
math.randomseed = function() end

local open, find = io.open, string.find
function io.open(path, mode, ...)
   if type(mode) == "string" and find(mode, "[wa+]") then return stopped("io.open for writing")() end
   return open(path, mode, ...)
end

-- A module that this machine does not have: the script loads, and a call of its functions ends the comparison.
local function absent(name)
   return setmetatable({}, {
      __index = function(_, key) return absent(name .. "." .. tostring(key)) end,
      __call = function() return stopped(name)() end,
   })
end

-- The order of pairs() differs from state to state, because Lua's hashes have a random part.
local each, sort = pairs, table.sort
function pairs(of)
   local keys, values = {}, {}
   for key, value in each(of) do
      keys[#keys + 1] = key
      values[key] = value
   end
   sort(keys, function(one, other)
      local first, second = type(one), type(other)
      if first ~= second then return first < second end
      if first == "number" or first == "string" then return one < other end
      return false
   end)
   local at = 0
   return function()
      at = at + 1
      local key = keys[at]
      if key ~= nil then return key, values[key] end
   end
end

-- C modules that only compute. The functions of others, such as posix, would start programs and change files.
local pure = { bit = true, cjson = true, lpeg = true, rex_pcre = true, rex_pcre2 = true, rex_posix = true, struct = true }
local match = string.match
-- LuaJIT has ffi in itself, which calls any function of C.
for name in pairs(package.preload) do
   if not pure[match(name, "^[^.]*")] then package.preload[name], package.loaded[name] = nil, nil end
end
local searchers, gsub = package.searchers or package.loaders, string.gsub
local refused

local function root(name) return match(name, "^[^.]*") end

local function exists(name)
   for template in string.gmatch(package.cpath, "[^;]+") do
      local file = open((gsub(template, "%?", (gsub(name, "%.", "/")))))
      if file then
         file:close()
         return true
      end
   end
   return false
end

for at = 3, 4 do
   local search = searchers[at]
   searchers[at] = function(name)
      if pure[root(name)] or not exists(at == 4 and root(name) or name) then return search(name) end
      refused = root(name)
      return "\n\tno C module '" .. name .. "' in a trial"
   end
end
package.loadlib = stopped("package.loadlib")

local load = require
function require(name)
   local loaded = package.loaded[name]
   if loaded ~= nil then return loaded end
   local before, stops_before = refused, stops
   refused = nil
   local found, module = pcall(load, name)
   local lacks = refused or before
   -- Modules such as socket.http and posix itself consist of Lua files and of C modules of the same family.
   local whole = refused == nil or root(name) ~= refused
   refused = lacks
   if found and whole then return module end
   if whole and stops == stops_before and find(tostring(module), "module '" .. name .. "' not found", 1, true) == nil
      and find(tostring(module), "cannot be loaded", 1, true) == nil then
      error(module, 2)
   end
   local made = absent(name)
   package.loaded[name] = made
   if name == "posix" then posix = made end
   return made
end
