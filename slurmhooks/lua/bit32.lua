-- SPDX-License-Identifier: GPL-2.0-or-later
-- The table bit32 of Lua 5.3, which lupa's build does not have.
local error, select = error, select
local ALL = 0xFFFFFFFF
local bit32 = {}

local function shifted(x, by)
   x, by = x & ALL, by | 0
   if by <= -32 or by >= 32 then return 0 end
   return (by < 0 and x >> -by or x << by) & ALL
end

local function mask(field, width, name)
   field, width = field | 0, (width or 1) | 0
   if field < 0 then error("bad argument #2 to '" .. name .. "' (field cannot be negative)", 3) end
   if width <= 0 then error("bad argument #3 to '" .. name .. "' (width must be positive)", 3) end
   if field + width > 32 then error("trying to access non-existent bits", 3) end
   return ~(~0 << width)
end

function bit32.band(...)
   local found = ALL
   for i = 1, select("#", ...) do found = found & (select(i, ...)) end
   return found & ALL
end

function bit32.bor(...)
   local found = 0
   for i = 1, select("#", ...) do found = found | (select(i, ...)) end
   return found & ALL
end

function bit32.bxor(...)
   local found = 0
   for i = 1, select("#", ...) do found = found ~ (select(i, ...)) end
   return found & ALL
end

function bit32.bnot(x) return ~x & ALL end
function bit32.btest(...) return bit32.band(...) ~= 0 end
function bit32.lshift(x, by) return shifted(x, by) end
function bit32.rshift(x, by) return shifted(x, -(by | 0)) end

function bit32.arshift(x, by)
   x, by = x | 0, by | 0
   if by < 0 or x & 0x80000000 == 0 then return shifted(x, -by) end
   return by >= 32 and ALL or shifted(x, -by) | (~(ALL >> by) & ALL)
end

function bit32.lrotate(x, by)
   by = (by | 0) % 32
   return ((x & ALL) << by | (x & ALL) >> (32 - by)) & ALL
end

function bit32.rrotate(x, by) return bit32.lrotate(x, -(by | 0)) end
function bit32.extract(x, field, width) return (x & ALL) >> field & mask(field, width, "extract") end

function bit32.replace(x, value, field, width)
   local bits = mask(field, width, "replace")
   return ((x & ~(bits << field)) | (value & bits) << field) & ALL
end

return bit32
