-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads all fields of a request, and writes many, for test_adopt.py. The names are put into the first line.
local calls = 0
-- Texts that a version of Lua, Python or C takes for a number and another one does not, and numbers that C cannot show.
local ODD = {
   "nan", "-nan(1)", "inf", "-INF", "infinity", "0x10", "-0x1p4", "0x", "1e3", "1e400", " 7 ", "\t8\r", "5\160", "\0286", "1_0",
   "\217\163", "9\0", "", ".", "5.", "+3", "1e", "0b1", "4294967294", "18446744073709551615", "9223372036854775808",
   0 / 0, -(0 / 0), 1 / 0, -1 / 0, 2 ^ 53, 1e15, 1e16, 0.1, -0.0, true,
}

local function shown(value)
   if type(value) ~= "table" then return tostring(value) end
   local parts = {}
   for key, item in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. tostring(item) end
   return "{" .. table.concat(parts, " ") .. "}"
end

local function decide(job_desc, part_list, submit_uid)
   calls = calls + 1
   slurm.log_info("call %d of %d", calls, submit_uid)
   for _, name in ipairs(READ) do slurm.log_debug("%s: %s", name, shown(job_desc[name])) end
   for name in pairs(part_list) do slurm.log_error("partition %s", name) end
   if job_desc.comment == "x" then
      for number, name in ipairs(NUMBERS) do job_desc[name] = number + 0.5 end
      for _, name in ipairs(TEXTS) do job_desc[name] = "gpu:2,new" end
      job_desc.no_such_field = "x"
   elseif job_desc.comment == "special" then
      for place, names in pairs({ NUMBERS, TEXTS }) do
         for number, name in ipairs(names) do
            local value = ODD[(calls + number * place) % #ODD + 1]
            local ok, text = pcall(function() job_desc[name] = value end)
            slurm.log_debug("%s := %s: %s %s", name, tostring(value), tostring(ok), tostring(job_desc[name]))
         end
      end
   elseif job_desc.account == "physics" then
      slurm.log_user("%s may not\nrun %s", job_desc.account, tostring(job_desc.name))
      return slurm.ESLURM_INVALID_ACCOUNT
   elseif job_desc.partition == "debug" then
      job_desc.time_limit = nil
   elseif job_desc.partition == "long" then
      return slurm.ERROR
   elseif job_desc.qos == "long" then
      slurm.log_user("before the error")
      return "x" + 1
   elseif job_desc.features ~= nil then
      return "text"
   elseif job_desc.licenses ~= nil then
      os.execute("true")
   end
   return slurm.SUCCESS
end

function slurm_job_submit(job_desc, part_list, submit_uid) return decide(job_desc, part_list, submit_uid) end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   if job_desc.name == "x" then return job_rec.job_id end
   return decide(job_desc, part_list, modify_uid)
end
