package deploy_test

import (
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is the time after which a command counts as hung.
const patience = 4 * time.Minute

var buildDir string

func TestMain(m *testing.M) {
	buildDir, _ = os.MkdirTemp("", "locklab-deploy-") // without it the build fails
	status := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(status)
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "locklab")
	_, err := runStep(`(.*go build .*) -o /locklab (.*)`, "$1 -o '"+path+"' $2")
	return path, err
})

func buildProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all builds it")
	}
	path, err := build()
	requireNoError(t, err)
	return path
}

// runStep finds a RUN line of the Containerfile by a pattern, runs a command with its parts, and
// returns the output.
func runStep(pattern, command string) (string, error) {
	containerfile, err := os.ReadFile("Containerfile")
	re := regexp.MustCompile("(?m)^RUN " + pattern + "$")
	at := re.FindSubmatchIndex(containerfile)
	if err != nil || at == nil {
		return "", fmt.Errorf("the Containerfile has no step %s (%v)", pattern, err)
	}
	cmd := exec.Command("sh", "-c", string(re.Expand(nil, []byte(command), containerfile, at)))
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "COMMIT=0123456789ab", "GOOS=linux")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	return string(out), err
}

func TestContainerfile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are of Linux")
	}
	bin, err := elf.Open(buildProgram(t))
	requireNoError(t, err)
	defer bin.Close()
	if libs, err := bin.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("it needs the libraries %v (%v)", libs, err)
	}
	for _, p := range bin.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it needs a dynamic linker")
		}
	}
	containerfile := readText(t, "Containerfile")
	for _, m := range regexp.MustCompile(`(?m)^COPY ([a-z].*) \./$`).FindAllStringSubmatch(containerfile, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("it copies %s: %v", name, err)
			}
		}
	}
	mod := readText(t, "../go.mod")
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(mod)[1]
	if image := regexp.MustCompile(`golang:(\S+)`).FindStringSubmatch(containerfile)[1]; image != want {
		t.Errorf("it builds with Go %s, go.mod asks for %s", image, want)
	}
}

func TestLicences(t *testing.T) {
	licences, err := runStep(`.*&& (.*scripts/licences .*) > /root-of-image/LICENSES`, "$1")
	requireNoError(t, err)
	info, err := buildinfo.ReadFile(buildProgram(t))
	requireNoError(t, err)
	for _, name := range []string{info.Main.Path, info.GoVersion} {
		if !strings.Contains("\n"+licences, "\n==== "+name+": LICENSE") {
			t.Errorf("no licence of %s", name)
		}
	}
	for _, m := range info.Deps {
		if !strings.Contains(licences, "\n==== "+m.Path+"@"+m.Version+": LICEN") {
			t.Errorf("no licence of %s %s", m.Path, m.Version)
		}
	}
	if len(info.Deps) < 5 {
		t.Errorf("%d modules", len(info.Deps))
	}
}
