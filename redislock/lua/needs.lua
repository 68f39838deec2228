-- In front of the scripts that take a lock. The last argument may be "needs" and the
-- names of commands by which the lock will be renewed and released, each with the
-- number of its arguments: a user that may not send one of them is told so before
-- anything is written. The arguments are asked about as well, and must be such as the
-- command takes: Redis 7.0.15 crashes over a SET without a key. Before 7 none can tell.
local needs = string.match(ARGV[#ARGV], '^needs (.*)$')
if needs and redis.acl_check_cmd then
  -- The server may lack the scripts that renew and release, which only EVAL sends.
  if not redis.acl_check_cmd('eval', 'return 1', '1', KEYS[1]) then
    return redis.error_reply('NOPERM this user may not send eval, by which the lock is renewed or released')
  end
  for command, n in string.gmatch(needs, '(%a+)/(%d)') do
    local request = {command, KEYS[1], '1', '1'}
    if not redis.acl_check_cmd(unpack(request, 1, 1 + n)) then
      return redis.error_reply('NOPERM this user may not send ' .. command .. ', by which the lock is renewed or released')
    end
  end
end

