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

var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	status := m.Run()
	os.RemoveAll(built.dir)
	os.Exit(status)
}

func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all builds it")
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "locklab-deploy-"); built.err == nil {
			built.err = buildAs("Containerfile", filepath.Join(built.dir, "locklab"))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "locklab")
}

func buildAs(containerfile, out string) error {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return err
	}
	line := regexp.MustCompile(`(?m)^RUN (.*go build .*) -o /locklab (.*)$`).FindStringSubmatch(string(text))
	if line == nil {
		return fmt.Errorf("%s builds no /locklab", containerfile)
	}
	cmd := exec.Command("sh", "-c", line[1]+" -o '"+out+"' "+line[2])
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "COMMIT=0123456789ab", "GOOS=linux")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", line[0], err, msg)
	}
	return nil
}

func TestContainerfile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are of Linux")
	}
	bin, err := elf.Open(program(t))
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
	containerfile := text(t, "Containerfile")
	for _, m := range regexp.MustCompile(`(?m)^COPY ([a-z].*) \./$`).FindAllStringSubmatch(containerfile, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("it copies %s: %v", name, err)
			}
		}
	}
	mod := text(t, "../go.mod")
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(mod)[1]
	if image := regexp.MustCompile(`golang:(\S+)`).FindStringSubmatch(containerfile)[1]; image != want {
		t.Errorf("it builds with Go %s, go.mod asks for %s", image, want)
	}
}

func TestLicences(t *testing.T) {
	containerfile := text(t, "Containerfile")
	line := regexp.MustCompile(`(?m)^RUN .*&& (.*scripts/licences .*) > /root-of-image/LICENSES$`).FindStringSubmatch(containerfile)
	if line == nil {
		t.Fatal("it writes no /LICENSES")
	}
	cmd := exec.Command("sh", "-c", line[1])
	cmd.Dir = ".."
	text, err := cmd.Output()
	requireNoError(t, err)
	info, err := buildinfo.ReadFile(program(t))
	requireNoError(t, err)
	for _, name := range []string{info.Main.Path, info.GoVersion} {
		if !strings.Contains(string(text), "\n==== "+name+": LICENSE") && !strings.HasPrefix(string(text), "==== "+name+": LICENSE") {
			t.Errorf("no licence of %s", name)
		}
	}
	for _, m := range info.Deps {
		if !strings.Contains(string(text), "\n==== "+m.Path+"@"+m.Version+": LICEN") {
			t.Errorf("no licence of %s %s", m.Path, m.Version)
		}
	}
	if len(info.Deps) < 5 {
		t.Errorf("%d modules", len(info.Deps))
	}
}
