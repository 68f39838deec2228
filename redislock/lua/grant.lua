-- Shared by the scripts of the queue, in front of each of them.
-- KEYS[1] the lock: absent if it is free, else its owner and the owner's token.
-- KEYS[2] the queue: a sorted set of waiters, in order of arrival.
-- KEYS[3] a counter that never falls: tokens, and places in the queue.
-- KEYS[4] what the keys of mailboxes, which are lists, begin with. It is no key: while the
-- slot of the lock migrates a cluster refuses a script that names several keys of which one
-- does not exist (TRYAGAIN), and so it refuses before anything is written. Without that a
-- script would fail at its first command for a key that does not exist. A script that must
-- run nevertheless names KEYS[1] alone: seize, renew and free; draw names the counter alone.
-- A waiter, and an owner, is called mailbox:number. ARGV[1] is the asking one.
-- Times are in microseconds by the server's clock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local stamp = string.format('%.0f', now)

local function owner()
  local held = redis.call('GET', KEYS[1])
  if held then
    local waiter, token = string.match(held, '^(%S+) (%d+)$')
    return waiter or held, token -- or a value that is not ours, which stays
  end
end

local function mailbox(waiter)
  return KEYS[4] .. string.match(waiter, '^[^:]*')
end

-- Notifications to this mailbox, if there is one, are for the asking process and go with
-- the reply.
local here
local notifications = {}

-- Returns n and those notifications.
local function reply(n)
  table.insert(notifications, 1, n)
  return notifications
end

-- Writes to the mailbox of a waiter: token 0 says only until when the lock is
-- taken, in span milliseconds from now. Returns whether it may be read: not if there is
-- a limit in microseconds, and another notification has lain there for that long.
local function post(waiter, token, span, limit)
  local box = mailbox(waiter)
  local notification = waiter .. ' ' .. token .. ' ' .. stamp .. ' ' .. span
  if box == here then
    notifications[#notifications + 1] = notification
    return true
  end
  if redis.call('RPUSH', box, notification) > 1 and limit then
    local written
    for i = 0, 7 do -- in front there may be words by which a process ends its own pop
      written = written or string.match(redis.call('LINDEX', box, i) or '', '^%S+ %d+ (%d+)')
    end
    if written and now - written >= limit then
      redis.call('RPOP', box)
      return false
    end
  end
  redis.call('PEXPIRE', box, 60000 + 2 * span)
  return true
end

-- Returns the next number of the counter, which is also at least the time: so it
-- rises even if the counter was lost, and may be forgotten a day after it is used.
local function number()
  local n, text, keep = now, stamp, '86400000'
  local counter = KEYS[3] or KEYS[1]
  local last = tonumber(redis.call('GET', counter) or 0)
  if last >= now then -- the clock was set back, or this script admits several
    n = last + 1
    text, keep = string.format('%.0f', n), string.format('%.0f', 86400000 + (n - now) / 1000)
  end
  redis.call('SET', counter, text, 'PX', keep)
  return n, text
end

-- Makes waiter the owner for span milliseconds and returns its token.
local function own(waiter, span)
  local token, text = number()
  redis.call('SET', KEYS[1], waiter .. ' ' .. text, 'PX', span)
  return token
end

-- Returns in how many milliseconds the waiter at that place should ask whether an
-- owner is still there whose time ends in left milliseconds and whose token is given:
-- then, but if grant milliseconds are all that it has had so far, only the first waiter
-- does, and the one that handed over. The others ask in time to find out within a
-- lease should both of those have died. (A token is the time at which it was made.)
local function ask_in(ahead, left, token, grant, lease)
  if ahead > 0 and token and now - token + left * 1000 <= grant * 1000 + 2000 then
    return math.max(left, lease - grant)
  end
  return left
end

-- Gives the lock to the first waiter for span milliseconds, within which it must
-- ask for more, or frees it. A waiter in whose mailbox a message has lain for
-- that long does not read any more, and is left out. Returns the new owner, or
-- nothing. If that is self, the caller makes it the owner.
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
    local _, token = number()
    if post(waiter, token, span, span * 1000) then
      redis.call('SET', KEYS[1], waiter .. ' ' .. token, 'PX', span)
      return waiter
    end
  end
end
