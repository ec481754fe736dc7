-- SPDX-License-Identifier: GPL-2.0-or-later
-- One snippet a line, for test_lua_as_the_machines.py.
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __lt = function(a, b) return a.n < b.n end } return a < b, b < a, a < a
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __lt = function(a, b) return a.n < b.n end } return a <= b, b <= a, a <= a
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __lt = function(a, b) return a.n < b.n end } return a > b, b > a, a > a
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __lt = function(a, b) return a.n < b.n end } return a >= b, b >= a, a >= a
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local m = { __lt = function(a, b) return a.n < b.n end } local a = of(m) m.__le = function() return 'le' end return a <= a
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __le = function() return false end, __lt = function(a, b) return a.n < b.n end } return a <= b, a >= b, a < b
local function of(meta) return setmetatable({n = 1}, meta), setmetatable({n = 2}, meta) end local a, b = of{ __le = function() return true end } return a <= b, pcall(function() return a < b end)
local C = {} C.__index = C C.__lt = function(a, b) return a.v < b.v end local function new(v) return setmetatable({v = v}, C) end return new(1) <= new(2), new(2) <= new(1)
local t = setmetatable({}, {__ipairs = function() return function(_, i) if i < 3 then return i + 1, 'm' end end, 1, 0 end}) local s = '' for i, v in ipairs(t) do s = s .. i .. v end return s
return ipairs(nil)
return ipairs()
return ipairs('text')
return ipairs({})
return ipairs(setmetatable({}, {__ipairs = 5}))
return ipairs(5)
local t = setmetatable({}, {__index = function(_, i) return i < 4 and i or nil end}) local s = 0 for i, v in ipairs(t) do s = s + v end return s
local t = setmetatable({}, {__pairs = function() return function(_, k) return not k and 1 or nil, 2 end, 1 end}) local s = 0 for k, v in pairs(t) do s = s + v end return s
return os.execute('exit 3')
return os.execute('true')
return os.execute('kill -9 $$')
return os.execute()
local ended = os.execute({}) return ended
return os.execute(nil)
return os.execute(5)
return io.popen('exit 3'):close()
local p = io.popen('printf abc; kill -15 $$') return p:read('*a'), p:close()
local p = io.popen() return p
local p, text, code = io.popen('x', 'y') return p, text, code
return (os.tmpname():gsub('%w+$', ''))
return os.date('*t', 86400).day
return os.date('!%c', 0)
return unpack, table.unpack and 1, loadstring and 1, math.mod, table.maxn and 1, bit32 and 1, utf8 and 1
return ('%5.1f|%a|%s|%%|%8.2A|%+a'):format(1, 1, 'x', 3.14159, -1)
return ('%a'):format('0x10')
return ('%a'):format('x')
return ('%d'):format(3.0)
return ('%i'):format('7')
return ('%5s|%-5s|%q'):format('a', 'b', 'c\n')
return tostring(2^53), tostring(1e15), 10 / 2, 7 // 2
return #arg
return string.rep('x', 3, ',')
return math.fmod(-6, 4)
return math.max(1, 2.5), math.min(3)
return pcall(math.max)
return select('#', table.unpack({1, nil, 3}, 1, 3))
return load('return 1')()
return xpcall(error, function(m) return 'h' .. tostring(m) end, 'x')
return next({})
return tonumber('10', 36), tonumber('0x1p4'), tonumber('1e')
return #package.path, #package.cpath > 0
return string.format('%.14g', 0.1), 0.1 + 0.2
return collectgarbage('count') > 0
goto x ::x:: return 1
local names = {} for name, value in pairs(_G) do if type(value) == 'table' and name ~= '_G' and name ~= 'arg' then for key, inner in pairs(value) do names[#names + 1] = name .. '.' .. tostring(key) .. ' ' .. type(inner) end end names[#names + 1] = name .. ' ' .. type(value) end table.sort(names) return table.concat(names, ', ')
io.popen('true') local a = io.close(5) return a
io.popen('true') local a = io.close('x') return a
io.popen('true') local a = io.close(nil) return a
return #os.tmpname()
return bit32 and bit32.lshift('8', '2') .. bit32.rshift(256, '2') .. bit32.lrotate('1', '33') .. bit32.rrotate(1, '1')
return bit32 and bit32.arshift('0xF0000000', ' 4 ') .. bit32.extract('240', '4', '4') .. bit32.replace('0', '5', '4', '4')
return bit32 and pcall(bit32.arshift, 1, 2^63)
local ok = pcall(setmetatable, {}) return ok
return setmetatable({}, nil) and 1
local ok = pcall(package.seeall or error, 'x') return ok, ('x'):upper()
