-- Shared by the scripts of the queue, in front of each of them.
-- KEYS[1] the lock: absent if it is free, else its owner and the owner's token.
-- KEYS[2] the queue: a sorted set of waiters, in order of arrival.
-- KEYS[3] a counter that never falls: tokens, and places in the queue.
-- KEYS[4] what the keys of mailboxes begin with.
-- A waiter, and an owner, is called mailbox:number. ARGV[1] is the asking one.
-- Times are in microseconds by the server's clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function owner()
  local held = redis.call('GET', KEYS[1])
  if held then
    local waiter, token = string.match(held, '^(%S+) (%d+)$')
    return waiter or held, token -- or somebody else's value, which stays
  end
end

local function mailbox(waiter)
  return KEYS[4] .. string.match(waiter, '^[^:]*')
end

-- Writes to the mailbox of a waiter: token 0 says only until when the lock is
-- taken, in span milliseconds from now.
local function post(waiter, token, span)
  local box = mailbox(waiter)
  redis.call('RPUSH', box, string.format('%s %s %.0f %s', waiter, token, now, span))
  redis.call('PEXPIRE', box, 60000 + 2 * span)
end

-- Makes waiter the owner for span milliseconds and returns its token.
local function own(waiter, span)
  local token = redis.call('INCR', KEYS[3])
  redis.call('SET', KEYS[1], waiter .. ' ' .. string.format('%.0f', token), 'PX', span)
  return token
end

-- Gives the lock to the first waiter for span milliseconds, within which it must
-- ask for more, or frees it. A waiter in whose mailbox a message has lain for
-- longer than that does not read any more, and is left out. Returns the new
-- owner and its token, or nothing. The lock goes to self without a message.
local function grant(span, self)
  while true do
    local waiter = redis.call('ZPOPMIN', KEYS[2])[1]
    if not waiter then
      redis.call('DEL', KEYS[1])
      return
    end
    if waiter == self then
      return waiter
    end
    local oldest = redis.call('LINDEX', mailbox(waiter), 0)
    local written = oldest and string.match(oldest, '^%S+ %d+ (%d+)')
    if not written or now - written < span * 1000 then
      local token = own(waiter, span)
      post(waiter, string.format('%.0f', token), span)
      return waiter
    end
  end
end
