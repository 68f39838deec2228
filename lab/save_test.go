package lab

import (
	"bufio"
	"errors"
	"io"
	"locklab/harness/result"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func smallRun(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	requireNoError(t, os.CopyFS(dir, os.DirFS("../reports/testdata/run")))
	return dir
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	requireNoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func requireRun(t *testing.T, dir string) *result.Run {
	t.Helper()
	run, err := result.Load(dir)
	requireNoError(t, err)
	return run
}

func absolutePath(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	requireNoError(t, err)
	return path
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	requireNoError(t, err)
	return string(text)
}

func startDrawing(t *testing.T, dir string) (cmd *exec.Cmd, stderr *bufio.Reader) {
	t.Helper()
	writeFile(t, filepath.Join(dir, reportName), "earlier")
	writeFile(t, filepath.Join(dir, markdownName), "earlier")
	cmd = locklab(t, "report", dir)
	pipe, err := cmd.StderrPipe()
	requireNoError(t, err)
	startCommand(t, cmd)
	return cmd, bufio.NewReader(pipe)
}

func interruptDrawing(t *testing.T, cmd *exec.Cmd, stderr *bufio.Reader) {
	t.Helper()
	requireNoError(t, cmd.Process.Signal(os.Interrupt))
	if line, err := stderr.ReadString('\n'); !strings.HasPrefix(line, "interrupted: the report") {
		t.Fatalf("said %q (%v)", line, err)
	}
}

func isWhole(page string) bool {
	return strings.HasPrefix(page, "<!") && strings.HasSuffix(strings.TrimSpace(page), "</html>")
}

// writingTo starts a report whose page is being written to a pipe on return.
func writingTo(t *testing.T) (dir string, cmd *exec.Cmd, stderr *bufio.Reader, page *os.File) {
	t.Helper()
	dir = smallRun(t)
	pipe := filepath.Join(dir, reportName+".new")
	requireNoError(t, syscall.Mkfifo(pipe, 0o644))
	cmd, stderr = startDrawing(t, dir)
	page, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0) // else it would wait for ever
	requireNoError(t, err)
	t.Cleanup(func() { page.Close() })
	waitUntil(t, "byte of the page, next to the earlier one", func() bool {
		n, _ := page.Read(make([]byte, 1))
		return n > 0
	})
	return dir, cmd, stderr, page
}

// TestReportInterruptedInFile: a file begun before Ctrl-C is completed, and is the last.
func TestReportInterruptedInFile(t *testing.T) {
	checkApart(t)
	dir, cmd, stderr, page := writingTo(t)
	interruptDrawing(t, cmd, stderr)
	time.Sleep(200 * time.Millisecond) // in which a command that does not wait ends
	rest, err := io.ReadAll(page)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted || err != nil {
		t.Errorf("exit status %d, want %d (%v)", status, exitInterrupted, err)
	}
	if !isWhole("<" + string(rest)) {
		t.Errorf("%d bytes of the page were written, which are not all", len(rest)+1)
	}
	requireAbsent(t, filepath.Join(dir, reportName+".new"))
	requireAbsent(t, filepath.Join(dir, chartsName))
	if readFile(t, filepath.Join(dir, markdownName)) != "earlier" {
		t.Error("the Markdown was written")
	}
}

// TestSecondSignal: a second Ctrl-C ends the command at once; the earlier page stays.
func TestSecondSignal(t *testing.T) {
	checkApart(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir, cmd, stderr, _ := writingTo(t)
		interruptDrawing(t, cmd, stderr)
		requireNoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != sig {
			t.Errorf("it ended with %v, want by %v", cmd.ProcessState, sig)
		}
		if readFile(t, filepath.Join(dir, reportName)) != "earlier" {
			t.Error("the earlier page is gone")
		}
	}
}

// TestNewDirectory: runs that begin in the same second have different directories.
func TestNewDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	made := make(map[string]bool)
	for range 3 {
		made[outOrNew("")] = true
	}
	if len(made) != 3 || outOrNew("run") != "run" {
		t.Errorf("made %v", made)
	}
}

// TestReplace: a file takes the place of the earlier one, as a second name of that shows. A link
// stays, and a pipe is written.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	real, link, pipe, second := filepath.Join(dir, "real"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe"), filepath.Join(dir, "second")
	writeFile(t, real, "earlier")
	requireNoError(t, errors.Join(os.Symlink(real, link), os.Link(real, second)))
	requireNoError(t, syscall.Mkfifo(pipe, 0o644))
	var saves saver
	requireNoError(t, saves.save(link, []byte("new")))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || readFile(t, real) != "new" {
		t.Errorf("the link is %v (%v), its file holds %q", info, err, readFile(t, real))
	}
	requireAbsent(t, real+".new")
	requireContains(t, readFile(t, second), "earlier")
	heard := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		heard <- string(text)
	}()
	requireNoError(t, saves.save(pipe, []byte("new")))
	if got := <-heard; got != "new" {
		t.Errorf("the pipe gave %q", got)
	}
}
