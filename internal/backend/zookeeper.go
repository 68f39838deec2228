package backend

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"locklab/harness"
)

var zooKeeper = Kind{
	Name:    harness.KindZooKeeper,
	Env:     "LOCKLAB_ZOOKEEPER",
	parse:   parseZooKeeper,
	find:    findZooKeeper,
	command: EnsembleOptions{}.command,
	probe:   probeZooKeeper,
	usage:   usageOfZooKeeper,
	owns: func(a answer, m member, _ int) bool {
		return strings.HasPrefix(a.identity, m.dir+string(filepath.Separator))
	},
}

func parseZooKeeper(text string) (harness.Endpoint, error) {
	addrs, err := hostPorts(text)
	if err != nil {
		return harness.Endpoint{}, fmt.Errorf("%w: LOCKLAB_ZOOKEEPER: %w", harness.ErrUsage, err)
	}
	return harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{addrs}}, nil
}

// homebrew is where Homebrew links its packages: on Apple silicon, on Intel and on Linux.
var homebrew = []string{"/opt/homebrew/opt", "/usr/local/opt", "/home/linuxbrew/.linuxbrew/opt"}

// findZooKeeper looks for a release in ZOOKEEPER_HOME, then Debian's jars, then Homebrew's.
func findZooKeeper(s system) (program, error) {
	java, err := findJava(s)
	if err != nil {
		return program{}, err
	}
	const get = "run scripts/deps zookeeper, or set LOCKLAB_ZOOKEEPER=host:port"
	releases := []string{s.getenv("ZOOKEEPER_HOME")}
	if releases[0] == "" {
		const debian = "/usr/share/java/"
		if found, _ := s.glob(debian + "zookeeper.jar"); len(found) > 0 {
			// The jar's manifest names the rest; a wildcard would load, slowly,
			// every Java library of the machine.
			return program{path: java, classPath: debian + "zookeeper.jar:" + debian + "slf4j-simple.jar"}, nil
		}
		releases = nil
		for _, opt := range homebrew {
			releases = append(releases, opt+"/zookeeper/libexec")
		}
	}
	for _, home := range releases {
		for _, lib := range []string{home + "/lib", home} {
			if found, _ := s.glob(lib + "/zookeeper-[0-9]*.jar"); len(found) > 0 {
				return program{path: java, classPath: found[0] + ":" + home + "/lib/*"}, nil
			}
		}
	}
	if home := s.getenv("ZOOKEEPER_HOME"); home != "" {
		return program{}, fmt.Errorf("%w: no zookeeper-*.jar in ZOOKEEPER_HOME=%s or its lib: it should name an unpacked release, or %s", harness.ErrUnavailable, home, get)
	}
	return program{}, fmt.Errorf("%w: no ZooKeeper in /usr/share/java, Homebrew or ZOOKEEPER_HOME: %s", harness.ErrUnavailable, get)
}

// Java returns the program that runs Java: from JAVA_HOME, else Homebrew's, else from PATH. It
// starts nothing. The error wraps [harness.ErrUnavailable].
func Java() (string, error) { return findJava(host()) }

// findJava looks in JAVA_HOME, then in Homebrew, which keeps its Java off PATH, then on PATH.
func findJava(s system) (string, error) {
	patterns := []string{}
	if home := s.getenv("JAVA_HOME"); home != "" {
		patterns = append(patterns, home+"/bin/java")
	}
	for _, opt := range homebrew {
		patterns = append(patterns, opt+"/openjdk/bin/java")
	}
	for _, pattern := range patterns {
		if found, _ := s.glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	path, err := s.lookPath("java")
	if err == nil && runtime.GOOS == "darwin" && path == "/usr/bin/java" {
		// macOS always has that file; without a Java it only prints an error.
		if found, _ := s.glob("/Library/Java/JavaVirtualMachines/*"); len(found) == 0 {
			err = exec.ErrNotFound
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: no java on PATH, which ZooKeeper runs on: run scripts/deps zookeeper, or set LOCKLAB_ZOOKEEPER=host:port", harness.ErrUnavailable)
	}
	return path, nil
}

// zooKeeperConfig is for lock measurements and fast failures:
//
//   - tickTime is the grain of session expiry and half of the shortest session timeout.
//   - maxClientCnxns is 60 by default, too few for one client address with a session per
//     worker.
//   - snapCount avoids snapshots, which stall requests, in measured windows.
const zooKeeperConfig = `tickTime=%d
minSessionTimeout=%d
maxSessionTimeout=60000
initLimit=%d
syncLimit=%d
clientPort=%d
dataDir=%s
clientPortAddress=127.0.0.1
maxClientCnxns=0
snapCount=10000000
admin.enableServer=false
4lw.commands.whitelist=conf,cons,mntr,ruok,srvr,wchs
`

// zooKeeperLoggers is configuration by file name: releases use different loggers. Each prints
// errors, which a failed start quotes, but no warnings, one per broken connection.
var zooKeeperLoggers = map[string]string{
	"logback.xml": `<configuration>
<appender name="C" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%msg%n%ex{short}</pattern></encoder></appender>
<root level="ERROR"><appender-ref ref="C"/></root>
</configuration>
`,
	"log4j.properties": `log4j.rootLogger=ERROR, C
log4j.appender.C=org.apache.log4j.ConsoleAppender
log4j.appender.C.layout=org.apache.log4j.PatternLayout
log4j.appender.C.layout.ConversionPattern=%m%n
`,
	"simplelogger.properties": `org.slf4j.simpleLogger.defaultLogLevel=error
`,
}

// command writes the configuration of m and returns the command that starts it.
func (o EnsembleOptions) command(p program, m member, all []member) (*exec.Cmd, error) {
	data := filepath.Join(m.dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(m.dir, "zoo.cfg")
	files, err := o.files(config, data, m, all)
	if err != nil {
		return nil, err
	}
	for name, text := range zooKeeperLoggers {
		files[filepath.Join(m.dir, name)] = text
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if o.Counters != nil {
		if err := writeSnapshot(data, o.Counters); err != nil {
			return nil, err
		}
	}
	forceSync := "no" // yes, the default, forces the log to disk before a write is answered
	if o.durable {
		forceSync = "yes"
	}
	cmd := exec.Command(p.path,
		"-Xmx128m", "-XX:+UseSerialGC",
		"-XX:-UsePerfData",        // else a kill leaves a file in the machine's temporary directory
		"-Djava.io.tmpdir="+m.dir, // where native libraries are unpacked
		"-Dzookeeper.forceSync="+forceSync,
		"-Dzookeeper.preAllocSize=1024", // KiB; the default of 64 MiB is slow to write
		"-cp", m.dir+":"+p.classPath,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", config,
	)
	if o.brief {
		cmd.Args = slices.Insert(cmd.Args, 1, "-XX:TieredStopAtLevel=1")
	}
	return cmd, nil
}

// probeZooKeeper asks for the version and the data directory. A server that does not serve answers
// otherwise. They are unknown if a user's server forbids the commands.
func probeZooKeeper(ctx context.Context, _ harness.Endpoint, addr string) (answer, error) {
	a := answer{version: "unknown"}
	text, err := FourLetters(ctx, harness.Endpoint{}, addr, "srvr")
	if err != nil {
		return answer{}, err
	}
	if m := zooKeeperVersion.FindStringSubmatch(text); m != nil {
		a.version = m[1]
	} else if !strings.Contains(text, "whitelist") {
		return answer{}, fmt.Errorf("no ZooKeeper that serves: it answers %.80q", text)
	}
	text, err = FourLetters(ctx, harness.Endpoint{}, addr, "conf")
	if m := zooKeeperDataDir.FindStringSubmatch(text); m != nil {
		a.identity = m[1]
	}
	return a, err
}

var (
	zooKeeperVersion = regexp.MustCompile(`(?m)^Zookeeper version: ([0-9][0-9.]*)`)
	zooKeeperDataDir = regexp.MustCompile(`(?m)^dataDir=(.*)$`)
)

// FourLetters returns the answer of a ZooKeeper server to a four-letter command, such as mntr,
// over TLS if at requires it.
func FourLetters(ctx context.Context, at harness.Endpoint, addr, command string) (string, error) {
	conn, end, err := dial(ctx, addr, at.TLS)
	if err != nil {
		return "", err
	}
	defer end()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	return string(text), err
}
