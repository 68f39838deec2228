#!/bin/sh
# module_test changes the path of a copy of the tree, and changes it back.
set -eu
cd "$(dirname "$0")/.."
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
git ls-files -co --exclude-standard | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | tar -cf "$home/tree.tar" -T -
mkdir "$home/was" "$home/is"
tar -xf "$home/tree.tar" -C "$home/was"
tar -xf "$home/tree.tar" -C "$home/is"
cd "$home/is"
git init -q
was=$(go list -m)
export GOPROXY=off GOWORK=off
scripts/module example.org/you/locklab
scripts/module example.org/you/locklab # changes nothing
[ "$(go list -m)" = example.org/you/locklab ]
[ -z "$(gofmt -l .)" ]
go list -deps -test ./... >/dev/null
go vet ./atomics ./spinlock ./harness ./internal/layers
go test -vet=off ./harness ./spinlock/lab
for path in '' https://example.org/x a//b /a a/internal/b -a; do
	status=0
	scripts/module "$path" 2>"$home/said" || status=$?
	[ $status = 2 ] && [ "$(wc -l <"$home/said")" = 1 ] || { echo "module_test: MODULE='$path': status $status" && exit 1; }
done
scripts/module "$was"
rm -rf .git
diff -r "$home/was" "$home/is"
echo 'module_test: passed'
