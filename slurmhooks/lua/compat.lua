-- SPDX-License-Identifier: GPL-2.0-or-later
-- What Lua from 5.2 on has as its own Makefile and distributions build it, and lupa's builds lack.
local version = ...
local execute, math, debug, package = os.execute, math, debug, package
local error, getmetatable, pairs, select, setmetatable, type = error, getmetatable, pairs, select, setmetatable, type

-- Without POSIX, Lua takes the status of wait(2) for an exit code.
function os.execute(...)
   local ok, how, status = execute(...)
   if how == nil then return ok end
   if how ~= "exit" then return ok, how, status end
   local signal = status % 128
   local code = signal > 0 and signal or (status - status % 256) / 256
   -- A whole number where there are integers.
   code = math.tointeger and math.tointeger(code) or code
   return code == 0 or nil, signal > 0 and "signal" or how, code
end

if version == "5.5" then return end

function math.log10(x) return math.log(x, 10) end

if version == "5.2" then
   unpack, loadstring, package.loaders = table.unpack, load, package.searchers

   function table.maxn(list)
      local most = 0
      for key in pairs(list) do
         if type(key) == "number" and key > most then most = key end
      end
      return most
   end

   function package.seeall(module)
      local meta = getmetatable(module) or {}
      meta.__index = _G
      setmetatable(module, meta)
   end

   function module(name, ...)
      local made = package.loaded[name]
      if type(made) ~= "table" then
         made = _G
         for part in name:gmatch("[^.]+") do
            if made[part] == nil then made[part] = {} end
            made = made[part]
            if type(made) ~= "table" then error("name conflict for module '" .. name .. "'", 2) end
         end
         package.loaded[name] = made
      end
      if made._NAME == nil then made._M, made._NAME, made._PACKAGE = made, name, name:match("^(.*%.)[^.]*$") or "" end
      local caller = debug.getinfo(2, "f").func
      local index, upvalue = 1, debug.getupvalue(caller, 1)
      while upvalue and upvalue ~= "_ENV" do
         index = index + 1
         upvalue = debug.getupvalue(caller, index)
      end
      if upvalue then debug.upvaluejoin(caller, index, function() return made end, 1) end
      for i = 1, select("#", ...) do (select(i, ...))(made) end
   end
   return
end

function math.pow(x, y) return x ^ y end
function math.atan2(y, x) return math.atan(y, x) end
function math.cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end
function math.sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end

function math.tanh(x)
   local square = math.exp(-2 * math.abs(x))
   local found = (1 - square) / (1 + square)
   return x < 0 and -found or found
end

function math.ldexp(x, power)
   -- In two steps: a power of its own may be too large for a float.
   local half = math.floor(power / 2)
   return x * 2.0 ^ half * 2.0 ^ (power - half)
end

function math.frexp(x)
   if x == 0 or x ~= x or x == math.huge or x == -math.huge then return x + 0.0, 0 end
   local power = math.floor(math.log(math.abs(x), 2)) + 1
   local part = math.ldexp(x, -power)
   if math.abs(part) >= 1 then return part / 2, power + 1 end
   if math.abs(part) < 0.5 then return part * 2, power - 1 end
   return part, power
end
