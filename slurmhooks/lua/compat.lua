-- SPDX-License-Identifier: GPL-2.0-or-later
-- What Lua 5.2 to 5.4 have if they are built by their Makefile or by distributions, but not if they are built by lupa.
-- It runs only where the machine's own liblua is missing.
local version, part = ...
local math, debug, package, string, os = math, debug, package, string, os
local error, getmetatable, pairs, rawget, rawset, select = error, getmetatable, pairs, rawget, rawset, select
local setmetatable, tonumber, type = setmetatable, tonumber, type

if version == "5.5" then return end

-- An argument that is a number, as luaL_checknumber() takes it.
local function number(position, name, ...)
   local value = select(position, ...)
   local found = type(value) == "number" and value or type(value) == "string" and tonumber(value)
   if found then return found end
   local kind = select("#", ...) < position and "no value" or type(value)
   error("bad argument #" .. position .. " to '" .. name .. "' (number expected, got " .. kind .. ")", 3)
end

local log = math.log
function math.log10(...) return log(number(1, "log10", ...), 10) end

if version == "5.2" then
   local date, now, format, unpack_all = os.date, os.time, string.format, table.unpack

   function os.date(...)
      local wanted, when = ...
      when = when == nil and now() or tonumber(when)
      if type(wanted) ~= "string" or wanted:find("^!?%*t") or not when then return date(...) end
      local utc = wanted:sub(1, 1) == "!"
      wanted = wanted:gsub("%%([EO]?)(.)", function(modifier, letter)
         local known = modifier == "E" and "cCxXyY" or modifier == "O" and "deHImMSuUVwWy" or "CDeFgGhnrRtTuVZ"
         if not known:find(letter, 1, true) then return nil end
         return (part("strftime")("%" .. modifier .. letter, when, utc):gsub("%%", "%%%%"))
      end)
      return date(wanted, select(2, ...))
   end

   function string.format(...)
      local wanted = ...
      if type(wanted) ~= "string" or not wanted:find("%%[%-+ #0]*%d*%.?%d*[aA]") then return format(...) end
      local given, count, at = { ... }, select("#", ...), 1
      wanted = wanted:gsub("%%([%-+ #0]*%d*%.?%d*)(.)", function(flags, letter)
         if letter == "%" then return nil end
         at = at + 1
         if letter:lower() ~= "a" then return nil end
         local value = number(at, "format", unpack_all(given, 1, count))
         given[at] = part("hexadecimal")("%" .. flags .. letter, format("%.17g", value))  -- lupa makes -0 an integer
         return "%s"
      end)
      return format(wanted, unpack_all(given, 2, count))
   end

   unpack, loadstring, package.loaders = table.unpack, load, package.searchers

   function table.maxn(list)
      local most = 0
      for key in pairs(list) do
         if type(key) == "number" and key > most then most = key end
      end
      return most
   end

   function package.seeall(module)
      if type(module) ~= "table" then error("bad argument #1 to 'seeall' (table expected)", 2) end
      local meta = getmetatable(module) or {}
      meta.__index = _G
      setmetatable(module, meta)
   end

   function module(name, ...)
      local result = package.loaded[name]
      if type(result) ~= "table" then
         result = _G
         for part in name:gmatch("[^.]+") do
            if result[part] == nil then result[part] = {} end
            result = result[part]
            if type(result) ~= "table" then error("name conflict for module '" .. name .. "'", 2) end
         end
         package.loaded[name] = result
      end
      if result._NAME == nil then
         result._M, result._NAME, result._PACKAGE = result, name, name:match("^(.*%.)[^.]*$") or ""
      end
      local caller = debug.getinfo(2, "f").func
      local index, upvalue = 1, debug.getupvalue(caller, 1)
      while upvalue and upvalue ~= "_ENV" do
         index = index + 1
         upvalue = debug.getupvalue(caller, index)
      end
      if upvalue then debug.upvaluejoin(caller, index, function() return result end, 1) end
      for i = 1, select("#", ...) do (select(i, ...))(result) end
   end
   return
end

function math.pow(...) return number(1, "pow", ...) ^ number(2, "pow", ...) end

local atan = math.atan
function math.atan2(...) return atan(...) end

for _, name in pairs { "cosh", "sinh", "tanh" } do
   math[name] = function(...)
      local x = number(1, name, ...)
      return part("compute")(name, x * 1.0)
   end
end

function math.frexp(...)
   local x = number(1, "frexp", ...)
   return part("frexp")(x * 1.0)
end

function math.ldexp(...)
   local x, power = number(1, "ldexp", ...), math.tointeger(number(2, "ldexp", ...))
   if not power then error("bad argument #2 to 'ldexp' (number has no integer representation)", 2) end
   return part("compute")("ldexp", x * 1.0, power)
end

if version == "5.3" then
   local metatable_of, plain = debug.getmetatable, ipairs

   function ipairs(...)
      local value = ...
      local meta = metatable_of(value)
      local own = meta and rawget(meta, "__ipairs")
      if own then
         local step, state, first = own(value)
         return step, state, first
      end
      return plain(...)
   end
   return
end

-- Other builds take not (b < a) for a <= b if there is no __le. The metatable gets one when a table gets it.
local function with_le(set)
   return function(...)
      local _, meta = ...
      if type(meta) == "table" and rawget(meta, "__lt") ~= nil and rawget(meta, "__le") == nil then
         rawset(meta, "__le", function(a, b) return not rawget(meta, "__lt")(b, a) end)
      end
      return set(...)
   end
end

_G.setmetatable, debug.setmetatable = with_le(setmetatable), with_le(debug.setmetatable)
