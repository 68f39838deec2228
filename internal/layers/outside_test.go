package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var service = regexp.MustCompile(`(?s)\n## Use them in a service\n(.*?)\n## `)

func documentBlocks(t *testing.T, language string) []string {
	t.Helper()
	readme := readFile(t, "README.md")
	section := service.FindStringSubmatch(readme)
	if section == nil {
		t.Fatal("the README has no section \"Use them in a service\"")
	}
	return codeBlocks(section[1], language)
}

var surroundings = map[string]string{
	"zklock": `func Reindex(ctx context.Context) error {
%s}

func reindex(context.Context, uint64) error { return nil }`,
	"redislock": `func Reindex(ctx context.Context) error {
%s}

func reindex(context.Context, uint64) error { return nil }`,
	"spinlock": `func Count(workers int, pool *sync.WaitGroup) int {
	var total struct{ requests int }
%s
	pool.Wait()
	return total.requests
}`,
}

var imports = map[string]string{
	"context.": "context", "sync.": "sync", "redis.": "github.com/redis/go-redis/v9",
	"zklock.": "%s/zklock", "redislock.": "%s/redislock", "spinlock.": "%s/spinlock",
}

func example(t *testing.T, module, text string) (library, file string) {
	t.Helper()
	for name, around := range surroundings {
		if !strings.Contains(text, name+".") || name == "redislock" && strings.Contains(text, "zklock.") {
			continue
		}
		body := fmt.Sprintf(around, text)
		file = "package " + name + "\n\nimport (\n"
		for use, path := range imports {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(use)).MatchString(body) {
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, module)
				}
				file += fmt.Sprintf("\t%q\n", path)
			}
		}
		return name, file + ")\n\n" + body + "\n"
	}
	t.Fatalf("which library does this example of the README use?\n%s", text)
	return "", ""
}

// TestOutside uses the libraries in a separate module, in a directory next to a link to
// this tree, with the commands of the README and without the network. It compiles the
// README's examples and runs a program for each library that needs no server.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	home := t.TempDir()
	tree, err := filepath.Abs(root)
	requireNoError(t, err)
	requireNoError(t, os.Symlink(tree, filepath.Join(home, "locklab")))
	put := func(name, text string) {
		path := filepath.Join(home, "service", name)
		requireNoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		requireNoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	examples := make(map[string]bool)
	for _, text := range documentBlocks(t, "go") {
		library, file := example(t, modulePath(t), text)
		examples[library] = true
		put("use"+library+"/use.go", file)
	}
	if len(examples) < len(surroundings) {
		t.Errorf("the README has examples of %v only", examples)
	}
	for _, library := range families {
		text := readFile(t, filepath.Join("internal/layers/testdata/programs", library, "main.go"))
		put(library+"/main.go", text)
	}
	commands := strings.Join(documentBlocks(t, "sh"), "")
	if strings.Count(commands, "\ngo ") < 3 {
		t.Fatalf("the README's commands are\n%s", commands)
	}
	for _, library := range families {
		commands += "go run ./" + library + "\n"
	}
	if out, status := command(t, filepath.Join(home, "service"), []string{"sh", "-ec", commands}); status != 0 {
		t.Errorf("%s\nexit status %d\n%s", commands, status, out)
	}
}

// TestGettingIt checks that each library's documentation has the README's command that
// replaces the module by a clone.
func TestGettingIt(t *testing.T) {
	edit := regexp.MustCompile(`(?m)^go mod edit .*$`).FindString(strings.Join(documentBlocks(t, "sh"), ""))
	if edit == "" {
		t.Fatal("the README has no such command")
	}
	for _, library := range families {
		text := readFile(t, filepath.Join(library, "doc.go"))
		if !strings.Contains(text, "//\t"+edit+"\n//\tgo get ") || !strings.Contains(text, "/"+library+"\n//\n// In a fork, make module MODULE=") {
			t.Errorf("the package comment of %s does not tell how to get it, by\n\t%s", library, edit)
		}
	}
}
