#!/bin/sh
# deps_test runs deps with a PATH without redis and qemu. Its apt-get only records the calls,
# so nothing is installed.
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
for tool in sh id uname sed grep mktemp paste rm ls tail chmod timeout flock; do
	ln -s "$(command -v $tool)" "$bin/$tool"
done
cat >"$bin/apt-get" <<END
#!/bin/sh
shift 3 # -q -o DPkg::Lock::Timeout=30
[ -e /usr/sbin/policy-rc.d ] && services=quiet || services=started
echo "\$* (services \$services)" >>$bin/calls
exit "\${APT_STATUS:-0}"
END
# With LATE a minute passes after the first call.
cat >"$bin/date" <<END
#!/bin/sh
[ -n "\${LATE:-}" ] || exec $(command -v date) "\$@"
[ ! -e $bin/late ] || echo 60
[ -e $bin/late ] || { echo 0 && : >$bin/late; }
END
chmod +x "$bin/apt-get" "$bin/date"

failed=0
policy() { ls -l /usr/sbin/policy-rc.d 2>/dev/null || echo none; }

# check runs deps with the variables and arguments after -- and compares the results.
check() { # name, status, a part of the output, all calls of apt-get, --, ...
	name=$1 status=$2 output=$3 calls=$4
	shift 5
	: >"$bin/calls"
	before=$(policy)
	got=0
	env -i PATH="$bin" "$@" >"$bin/output" 2>&1 || got=$?
	if [ "$got" = "$status" ] && grep -qF -- "$output" "$bin/output" &&
		[ "$(cat "$bin/calls")" = "$calls" ] && [ "$(policy)" = "$before" ]; then
		echo "ok   $name"
	else
		failed=1
		echo "FAIL $name: status $got, policy-rc.d was $before, is $(policy); output and calls:"
		cat "$bin/output" "$bin/calls"
	fi
}

update='update (services quiet)'
get='install --download-only -y --no-install-recommends redis-server qemu-user-static (services quiet)'
unpack='install --no-download -y --no-install-recommends redis-server qemu-user-static (services quiet)'

check 'usage' 2 "unknown program 'postgres'" '' -- sh ./deps redis postgres
check 'named server' 0 'the server that LOCKLAB_REDIS names' '' -- LOCKLAB_REDIS=redis://:pw@h:1 sh ./deps redis
check 'look only' 0 'apt-get install --no-install-recommends redis-server qemu-user-static' '' -- LOCKLAB_NO_INSTALL=1 sh ./deps redis qemu
check 'Spin and its compiler' 0 'apt-get install --no-install-recommends spin gcc libc6-dev' '' -- LOCKLAB_NO_INSTALL=1 sh ./deps spin
check 'named jars' 0 'curator: /nonexistent/a.jar:b.jar' '' -- LOCKLAB_NO_INSTALL=1 LOCKLAB_CURATOR=/nonexistent/a.jar:b.jar sh ./deps curator
check 'compiler of Java' 0 'apt-get install --no-install-recommends default-jdk-headless' '' -- LOCKLAB_NO_INSTALL=1 LOCKLAB_CURATOR=a.jar sh ./deps curator
check 'bad ZOOKEEPER_HOME' 0 'no zookeeper-*.jar in ZOOKEEPER_HOME' '' -- ZOOKEEPER_HOME="$bin" sh ./deps zookeeper
check 'no Go' 0 'https://go.dev/dl/' '' -- LOCKLAB_NO_INSTALL=1 sh ./deps redis
if [ "$(id -u)" = 0 ]; then
	check 'install' 0 'missing: redis qemu' "$update
$get
$unpack" -- sh ./deps redis qemu
	check 'no time left' 0 'deps: missing: redis: to install' '' -- LATE=1 sh ./deps redis
	check 'install fails' 0 'missing: redis qemu' "$update" -- APT_STATUS=100 sh ./deps redis qemu
else
	check 'not root' 0 'run: sudo apt-get install' '' -- sh ./deps redis qemu
	echo 'skip install: only root may'
fi
mv "$bin/apt-get" "$bin/brew"
check 'Homebrew' 0 'to install, run: brew install redis' '' -- LOCKLAB_NO_INSTALL=1 sh ./deps redis valgrind
check 'not in Homebrew' 0 'missing: valgrind' '' -- sh ./deps valgrind
if grep -q 'brew install' "$bin/output"; then
	failed=1
	echo 'FAIL not in Homebrew: it names an empty command'
fi
exit $failed
