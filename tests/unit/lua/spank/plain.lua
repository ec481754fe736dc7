-- SPDX-License-Identifier: GPL-2.0-or-later
-- What lua.so of spank-lua gives to a script, for a Lua without Slurm.
local ask, log = ...
local type, error, tonumber, pairs = type, error, tonumber, pairs
local unpack_name = unpack and "unpack" or "table.unpack"

SPANK = { SUCCESS = 0, FAILURE = -1 }
function SPANK._log_msg(level, text)
   if type(text) ~= "string" and type(text) ~= "number" then
      log(-1, "spank/lua: SPANK._log_msg: the message is not a string")
   else
      log(level, text .. "")
   end
   if level == -1 then return -1 end
end
for level, name in pairs { [-1] = "error", [0] = "info", "verbose", "debug", "debug2", "debug3", "user" } do
   local source = "SPANK._log_msg (" .. level .. ", string.format(" .. unpack_name .. "({...})))"
   SPANK["log_" .. name] = (loadstring or load)(source)
end

local function checked(self)
   if type(self) ~= "table" then error("Invalid argument expected table got " .. type(self), 3) end
end

local function text_of(value, number, method)
   if type(value) ~= "string" and type(value) ~= "number" then
      error("bad argument #" .. number .. " to '" .. method .. "' (string expected, got " .. type(value) .. ")", 3)
   end
   return value .. ""
end

local function option_of(option, method)
   if type(option) ~= "table" then error("Expected table argument to " .. method, 3) end
   for _, field in pairs { "name", "usage" } do
      if type(option[field]) ~= "string" then
         error('Required field "' .. field .. '" missing from spank option table', 3)
      end
   end
   if option.cb ~= nil and type(_G[option.cb]) ~= "function" then
      error("Unable to find spank option cb function " .. tostring(option.cb), 3)
   end
   return option.name, tonumber(option.has_arg) or 0, option.cb, (tonumber(option.val) or 0) + 0.0
end

local methods = {}
function methods.remote(self) checked(self) return ask("remote") end
function methods.get_item(self, name, argument) checked(self) return ask("get_item", name, argument) end
function methods.getopt(self, option)
   checked(self)
   return ask("getopt", option_of(option, "spank_option_getopt"))
end
function methods.register_option(self, option)
   checked(self)
   return ask("register", option_of(option, "spank_option_register"))
end
for _, prefix in pairs { "", "job_control_" } do
   local get, set, unset = prefix .. "getenv", prefix .. "setenv", prefix .. "unsetenv"
   methods[get] = function(self, name) checked(self) return ask(get, text_of(name, 1, get)) end
   methods[set] = function(self, name, value, overwrite)
      checked(self)
      local first, second = text_of(name, 1, set), text_of(value, 2, set)
      return ask(set, first, second, tonumber(overwrite) or 0)
   end
   methods[unset] = function(self, name) checked(self) return ask(unset, text_of(name, 1, unset)) end
end

local function handle(context, arguments, version)
   local made = { context = context, args = arguments, slurm_version = version }
   for name, method in pairs(methods) do made[name] = method end
   return made
end

return {
   call = function(name, context, arguments, version)
      local called = _G["slurm_spank_" .. name]
      if called ~= nil then return called(handle(context, arguments, version)) end
      return 0
   end,
   options = function()
      local found = {}
      for key, option in pairs(spank_options or {}) do
         local name, has_arg, callback, value = option_of(option, "spank_options")
         found[#found + 1] = { name, has_arg, callback or false, value }
      end
      return found
   end,
   take = function(callback, value, text, remote) return _G[callback](value, text, remote) end,
}
