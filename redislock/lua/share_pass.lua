-- Passes the check of a handover from a process that exits to the first waiter. Admits
-- waiters in place of holders whose time has run out.
-- ARGV[2] the grant timeout in milliseconds.
reap()
serve(tonumber(ARGV[2]))
tell()
return 1
