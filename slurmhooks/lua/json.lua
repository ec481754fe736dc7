-- SPDX-License-Identifier: GPL-2.0-or-later
-- The module for `require 'json'` if the site has no JSON module for Lua: decode, encode, null.
--
-- null is decoded to json.null, so that it is not lost. Decoded arrays and objects keep their kind, so that empty ones
-- are encoded as before; other empty tables are encoded as arrays.
local json = {}
local ARRAY, OBJECT = { __name = "JSON array" }, { __name = "JSON object" }

json.null = setmetatable({}, { __tostring = function() return "null" end, __name = "JSON null" })
json.util = { null = json.null }

local byte, find, format, sub = string.byte, string.find, string.format, string.sub
local concat = table.concat
local MAX_DEPTH = 512

local function fail(text, at, what)
   local _, line = sub(text, 1, at):gsub("\n", "\n")
   error(format("JSON, line %d: %s", line + 1, what), 0)
end

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function utf8_of(code)
   if code < 0x80 then return string.char(code) end
   if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
   if code < 0x10000 then
      return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
   end
   return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
      0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

local function read_string(text, at)
   local parts, start = {}, at + 1
   while true do
      local stop = find(text, '["\\%c]', start)
      if not stop then fail(text, at, "a string does not end") end
      parts[#parts + 1] = sub(text, start, stop - 1)
      local sign = sub(text, stop, stop)
      if sign == '"' then return concat(parts), stop + 1 end
      if sign ~= "\\" and byte(sign) < 32 then fail(text, stop, "a control character in a string") end
      local kind = sub(text, stop + 1, stop + 1)
      if sign ~= "\\" then
         parts[#parts + 1], start = sign, stop + 1
      elseif kind == "u" then
         local digits = text:match("^%x%x%x%x", stop + 2)
         if not digits then fail(text, stop, "\\u takes four hexadecimal digits") end
         local code, after = tonumber(digits, 16), stop + 6
         local low = code >= 0xD800 and code < 0xDC00 and text:match("^\\u([dD][c-fC-F]%x%x)", after)
         if low then code, after = 0x10000 + (code - 0xD800) * 1024 + tonumber(low, 16) - 0xDC00, after + 6 end
         parts[#parts + 1], start = utf8_of(code), after
      else
         if not ESCAPES[kind] then fail(text, stop, "unknown escape \\" .. kind) end
         parts[#parts + 1], start = ESCAPES[kind], stop + 2
      end
   end
end

local read_value

local function skip(text, at) return find(text, "[^ \t\r\n]", at) or #text + 1 end

local function read_members(text, at, close, depth, member)
   if depth > MAX_DEPTH then fail(text, at, "nested too deeply") end
   at = skip(text, at + 1)
   if sub(text, at, at) == close then return at + 1 end
   while true do
      at = skip(text, member(at))
      local sign = sub(text, at, at)
      if sign == close then return at + 1 end
      if sign ~= "," then fail(text, at, "expected ',' or '" .. close .. "'") end
      at = skip(text, at + 1)
   end
end

local WORDS = { ["true"] = true, ["false"] = false, null = json.null }

function read_value(text, at, depth)
   at = skip(text, at)
   local sign = sub(text, at, at)
   if sign == "{" then
      local found = setmetatable({}, OBJECT)
      return found, read_members(text, at, "}", depth, function(here)
         if sub(text, here, here) ~= '"' then fail(text, here, "expected a name in quotes") end
         local name, after = read_string(text, here)
         after = skip(text, after)
         if sub(text, after, after) ~= ":" then fail(text, after, "expected ':'") end
         found[name], after = read_value(text, after + 1, depth + 1)
         return after
      end)
   elseif sign == "[" then
      local found, count = setmetatable({}, ARRAY), 0
      return found, read_members(text, at, "]", depth, function(here)
         count = count + 1
         local after
         found[count], after = read_value(text, here, depth + 1)
         return after
      end)
   elseif sign == '"' then
      return read_string(text, at)
   end
   local word = text:match("^%l+", at)
   if word and WORDS[word] ~= nil then return WORDS[word], at + #word end
   local number = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
   if not number or not tonumber(number) then fail(text, at, "expected a value") end
   return tonumber(number), at + #number
end

function json.decode(text)
   if type(text) ~= "string" then error("json.decode takes a string, not " .. type(text), 2) end
   local value, at = read_value(text, 1, 1)
   at = skip(text, at)
   if at <= #text then fail(text, at, "something after the end") end
   return value
end

local SIGNS = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
   ["\t"] = "\\t" }

local function quoted(text)
   return '"' .. text:gsub('[%c"\\]', function(sign) return SIGNS[sign] or format("\\u%04x", byte(sign)) end) .. '"'
end

local function number_of(value)
   if value ~= value or value == math.huge or value == -math.huge then error("JSON has no " .. tostring(value), 0) end
   if math.type and math.type(value) == "integer" then return format("%d", value) end
   -- Whole numbers as such, also large ones: readers of memory limits take no exponent.
   if value == math.floor(value) and value > -1e19 and value < 1e19 then return format("%.0f", value) end
   local short = format("%.14g", value)
   return tonumber(short) == value and short or format("%.17g", value)
end

local function is_array(value)
   local meta = getmetatable(value)
   local count = 0
   for key in pairs(value) do
      if type(key) ~= "number" then return false end
      count = count + 1
   end
   if count == 0 then return meta ~= OBJECT end
   return count == #value
end

local function write(value, parts, depth)
   local kind = type(value)
   if depth > MAX_DEPTH then error("JSON: nested too deeply, or a table that holds itself", 0) end
   if value == nil or value == json.null then
      parts[#parts + 1] = "null"
   elseif kind == "boolean" then
      parts[#parts + 1] = tostring(value)
   elseif kind == "number" then
      parts[#parts + 1] = number_of(value)
   elseif kind == "string" then
      parts[#parts + 1] = quoted(value)
   elseif kind ~= "table" then
      error("JSON has no " .. kind, 0)
   elseif is_array(value) then
      parts[#parts + 1] = "["
      for index, item in ipairs(value) do
         if index > 1 then parts[#parts + 1] = "," end
         write(item, parts, depth + 1)
      end
      parts[#parts + 1] = "]"
   else
      local names = {}
      for name in pairs(value) do
         if type(name) ~= "string" and type(name) ~= "number" then error("JSON: a name must be a string", 0) end
         names[#names + 1] = name
      end
      table.sort(names, function(one, other) return tostring(one) < tostring(other) end)
      parts[#parts + 1] = "{"
      for index, name in ipairs(names) do
         if index > 1 then parts[#parts + 1] = "," end
         parts[#parts + 1] = quoted(tostring(name)) .. ":"
         write(value[name], parts, depth + 1)
      end
      parts[#parts + 1] = "}"
   end
end

function json.encode(value)
   local parts = {}
   write(value, parts, 1)
   return concat(parts)
end

return json
