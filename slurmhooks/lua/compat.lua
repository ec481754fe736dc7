-- SPDX-License-Identifier: GPL-2.0-or-later
-- Functions that Lua 5.2 and later have if built by their Makefile or by distributions, but not if built by lupa.
local version = ...
local execute, math, debug, package = os.execute, math, debug, package
local error, getmetatable, pairs, select, setmetatable, type = error, getmetatable, pairs, select, setmetatable, type

-- Without POSIX, Lua returns the status of wait(2) instead of the exit code.
function os.execute(...)
   local ok, how, status = execute(...)
   if how == nil then return ok end
   if how ~= "exit" then return ok, how, status end
   local signal = status % 128
   local code = signal > 0 and signal or (status - status % 256) / 256
   -- An integer, in versions that have integers.
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

function math.pow(x, y) return x ^ y end
function math.atan2(y, x) return math.atan(y, x) end
function math.cosh(x) return (math.exp(x) + math.exp(-x)) / 2 end
function math.sinh(x) return (math.exp(x) - math.exp(-x)) / 2 end

function math.tanh(x)
   local square = math.exp(-2 * math.abs(x))
   local result = (1 - square) / (1 + square)
   return x < 0 and -result or result
end

function math.ldexp(x, power)
   -- In two steps, as 2 ^ power may be too large for a float.
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
