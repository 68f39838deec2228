package backend

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness"
)

func TestParseZooKeeper(t *testing.T) {
	at, err := parseZooKeeper("a:2181, b:2181,[::1]:1")
	if err != nil || len(at.Addrs) != 1 || strings.Join(at.Addrs[0], " ") != "a:2181 b:2181 [::1]:1" {
		t.Errorf("read as %v, %v, want one ensemble of three", at.Addrs, err)
	}
	for _, text := range []string{"a", "a:1,", "zk://a:1", "a:1/path"} {
		if _, err := parseZooKeeper(text); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%q: error is %v, want ErrUsage", text, err)
		}
	}
}

// files returns a glob over the given files.
func files(paths ...string) func(string) ([]string, error) {
	return func(pattern string) ([]string, error) {
		var found []string
		for _, path := range paths {
			if ok, err := filepath.Match(pattern, path); err != nil {
				return nil, err
			} else if ok {
				found = append(found, path)
			}
		}
		return found, nil
	}
}

func TestFindZooKeeper(t *testing.T) {
	const (
		debian   = "/usr/share/java/zookeeper.jar"
		brewLib  = "/opt/homebrew/opt/zookeeper/libexec/lib/zookeeper-3.9.4.jar"
		brewJava = "/opt/homebrew/opt/openjdk/bin/java"
		homeJar  = "/opt/zk/lib/zookeeper-3.9.3.jar"
		oldJar   = "/opt/zk/zookeeper-3.4.14.jar"
		jute     = "/opt/zk/lib/zookeeper-jute-3.9.3.jar"
	)
	for name, test := range map[string]struct {
		files           []string
		env             []string
		java, classPath string
	}{
		"Debian":               {[]string{debian}, nil, "/path/java", debian + ":/usr/share/java/slf4j-simple.jar"},
		"Homebrew":             {[]string{brewLib, brewJava}, nil, brewJava, brewLib + ":/opt/homebrew/opt/zookeeper/libexec/lib/*"},
		"release":              {[]string{jute, homeJar, debian}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "/path/java", homeJar + ":/opt/zk/lib/*"},
		"old release":          {[]string{oldJar}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "/path/java", oldJar + ":/opt/zk/lib/*"},
		"JAVA_HOME":            {[]string{debian, brewJava, "/jdk/bin/java"}, []string{"JAVA_HOME", "/jdk"}, "/jdk/bin/java", debian + ":/usr/share/java/slf4j-simple.jar"},
		"no release":           {[]string{debian}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "", ""},
		"jute is not a server": {[]string{jute}, []string{"ZOOKEEPER_HOME", "/opt/zk"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			look := func(name string) (string, error) { return "/path/" + name, nil }
			sys := system{env(append(test.env, "ZOOKEEPER_HOME", "", "JAVA_HOME", "")...), look, files(test.files...), freePorts, ""}
			p, err := findZooKeeper(sys)
			if p != (program{test.java, test.classPath}) || (err == nil) != (test.java != "") {
				t.Errorf("found %+v, %v, want %q %q", p, err, test.java, test.classPath)
			}
			if err != nil && !errors.Is(err, harness.ErrUnavailable) {
				t.Errorf("error is %v, want ErrUnavailable", err)
			}
		})
	}
}

// An administrator may forbid all commands but srvr: the session proves that it serves.
func TestUserZooKeeperForbidsCommands(t *testing.T) {
	need(t, harness.KindZooKeeper)
	sys := lab(t)
	k := zooKeeper
	k.command = EnsembleOptions{Config: "4lw.commands.whitelist=ruok"}.command
	k.owns = func(answer, member, int) bool { return true }
	own, err := launch(t.Context(), sys, &k, 1)
	requireNoError(t, err)
	defer own.Stop()
	s, err := start(t.Context(), lab(t, "LOCKLAB_ZOOKEEPER", own.Endpoint().Addrs[0][0]), harness.KindZooKeeper)
	requireNoError(t, err)
	if s.Version() != own.Version() {
		t.Errorf("version is %q, want %q", s.Version(), own.Version())
	}
}

// The error quotes the output of a server that cannot start, without Java's stack frames.
func TestZooKeeperFails(t *testing.T) {
	need(t, harness.KindZooKeeper)
	sys := lab(t)
	p, err := findZooKeeper(sys)
	requireNoError(t, err)
	for name, test := range map[string]struct {
		classPath, config, want string
	}{
		"bad configuration": {p.classPath, "tickTime=soon", "soon"},
		"no classes":        {"/nonexistent.jar", "", "QuorumPeerMain"},
	} {
		t.Run(name, func(t *testing.T) {
			k := zooKeeper
			k.command = EnsembleOptions{Config: test.config}.command
			k.find = func(system) (program, error) { return program{p.path, test.classPath}, nil }
			_, err := launch(t.Context(), sys, &k, 1)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), " at org.apache") {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			wantEmpty(t, sys.temp)
		})
	}
}
