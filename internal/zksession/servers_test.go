package zksession

import (
	"strings"
	"testing"
)

func TestParseServers(t *testing.T) {
	for addr, want := range map[string]string{
		"zk-0:2181":           "zk-0:2181",
		"zk-0":                "zk-0:2181",
		"zk-0.example.org.:1": "zk-0.example.org.:1",
		"127.0.0.1:65535":     "127.0.0.1:65535",
		"127.0.0.1":           "127.0.0.1:2181",
		"[::1]":               "[::1]:2181",
		"[2001:db8::1]:2182":  "[2001:db8::1]:2182",
		"[fe80::1%eth0]:2182": "[fe80::1%eth0]:2182",
	} {
		if all, err := parseServers([]string{addr}); err != nil || all[0].String() != want {
			t.Errorf("%q = %v, %v, want %s", addr, all, err, want)
		}
	}
	for addr, why := range map[string]string{
		"":                    "host:port",
		":2181":               "host:port",
		".:2181":              "host:port",
		" zk-0:2181":          "host:port",
		"me@zk-0:2181":        "host:port",
		"a:b:2181":            "[host]:port",
		"::1":                 "[host]:port",
		"::1:2181":            "[host]:port",
		"zk-0:2181/app":       "chroot",
		"zk-0:2181,zk-1:2181": "one server",
		"zookeeper://zk-0":    "URL",
		"zk-0:":               "1 to 65535",
		"zk-0:0":              "1 to 65535",
		"zk-0:65536":          "1 to 65535",
		"zk-0:-1":             "1 to 65535",
		"zk-0:zookeeper":      "1 to 65535",
	} {
		if err := CheckServers([]string{"127.0.0.1:2181", addr}); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want an error of one line about %q", addr, err, why)
		}
	}
	if CheckServers(nil) == nil {
		t.Error("no server is fine")
	}
}

func TestNamed(t *testing.T) {
	for addr, want := range map[string]bool{"zk-0:1": true, "localhost": true, "127.0.0.1:1": false, "[::1]:1": false} {
		if all, err := parseServers([]string{addr}); err != nil || all[0].named() != want {
			t.Errorf("%q: named %t, want %t (%v)", addr, !want, want, err)
		}
	}
}
