-- Prefix of the scripts that take a lock. The last argument may be "needs", followed by the
-- commands that renew and release the lock, each with the number of its arguments. If the
-- user may not send one of them, the script fails before it writes anything. The check also
-- covers the arguments, which must be valid for the command: Redis 7.0.15 crashes on a SET
-- without a key. Servers before Redis 7 cannot check permissions.
local needs = string.match(ARGV[#ARGV], '^needs (.*)$')
if needs and redis.acl_check_cmd then
  -- If the server has not cached the scripts that renew and release, only EVAL can send them.
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

