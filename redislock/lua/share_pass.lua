-- The process that watched a hand-over goes away: from now on the first waiter does.
-- Admits waiters in the place of holders whose time has run out. ARGV[2] the grant
-- timeout in milliseconds.
reap()
serve(tonumber(ARGV[2]))
tell()
return 1
