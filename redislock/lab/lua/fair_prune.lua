-- Prefix of every script of the fair lock.
-- KEYS[1] the lock: a hash with one field, the owner, and its count.
-- KEYS[2] the queue: a list of waiters. KEYS[3] a sorted set with the time until which
-- each waiter is presumed alive, in milliseconds of the clients' clocks.
-- ARGV[1] the owner or waiter. ARGV[2] the lease in milliseconds. ARGV[3] the time
-- by the client's clock. ARGV[4] the time allowed to a waiter at the head.
local now = tonumber(ARGV[3])

-- Drops waiters from the head whose time is over. Returns the new head, or false.
local function head()
  while true do
    local first = redis.call('LINDEX', KEYS[2], 0)
    local until_ = first and redis.call('ZSCORE', KEYS[3], first)
    if not until_ or tonumber(until_) > now then
      return first
    end
    redis.call('ZREM', KEYS[3], first)
    redis.call('LPOP', KEYS[2])
  end
end

