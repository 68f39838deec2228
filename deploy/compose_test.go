package deploy_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rankRE = regexp.MustCompile(`^rank-(\d+)$`)

// judgeCompose returns what is wrong with a Compose file, by the schema and by the needs of the
// ranks.
func judgeCompose(text []byte, s schema) error {
	docs, err := decode(text)
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return fmt.Errorf("%d documents, want one", len(docs))
	}
	doc := docs[0]
	if err := s.validate("", doc); err != nil {
		return err
	}
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	services, _ := at(doc, "services").(map[string]any)
	ranks := 0
	for name := range services {
		if rankRE.MatchString(name) {
			ranks++
		}
	}
	want(ranks >= 2, "%d ranks, want some", ranks)
	first := fmt.Sprint(at(services, "rank-0", "command"))
	merge := strings.Fields(fmt.Sprint(at(services, "merge", "command")))
	for name, service := range services {
		for _, other := range dependencies(service) {
			want(services[other] != nil, "%s depends on %s, which is no service", name, other)
		}
		m := rankRE.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		command := strings.ReplaceAll(fmt.Sprint(at(service, "command")), "rank-"+m[1], "rank-0")
		command = strings.ReplaceAll(command, "--rank "+m[1]+" ", "--rank 0 ")
		want(command == first, "%s runs %q, which is not what rank-0 runs", name, at(service, "command"))
		want(strings.Contains(first, fmt.Sprintf("--ranks %d ", ranks)), "%s runs %q, there are %d ranks", name, first, ranks)
		want(at(service, "environment", "LOCKLAB_REDIS") != nil && at(service, "environment", "LOCKLAB_ZOOKEEPER") != nil, "%s is not told where the servers are", name)
		want(slices.Contains(merge, "/results/"+name), "merge leaves out %s", name)
		want(at(services, "merge", "depends_on", name, "condition") == "service_completed_successfully", "merge does not wait for %s", name)
		want(slices.Equal(texts(at(service, "volumes")), []string{"results:/results"}), "%s has the volumes %v", name, at(service, "volumes"))
	}
	volumes, _ := at(doc, "volumes").(map[string]any)
	_, made := volumes["results"]
	want(made, "there is no volume results")
	return errors.Join(errs...)
}

func dependencies(service any) (names []string) {
	conditions, _ := at(service, "depends_on").(map[string]any)
	for name := range conditions {
		names = append(names, name)
	}
	return names
}

func composeFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCompose(t *testing.T) {
	if err := judgeCompose([]byte(composeFile(t)), schemas(t, "compose", 1)[0]); err != nil {
		t.Error(err)
	}
}

// TestComposeRejects: each of these files is wrong in one place.
func TestComposeRejects(t *testing.T) {
	s := schemas(t, "compose", 1)[0]
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown field":     {"    healthcheck:", "    healthchek:", "healthchek"},
		"unknown, on top":   {"volumes:\n  results:\n", "volume:\n  results:\n", "'volume'"},
		"wrong type":        {"retries: 60", "retries: [60]", "retries"},
		"wrong enumeration": {"condition: service_healthy", "condition: healthy", "must be one of"},
		"missing required":  {"rank-0: {condition: service_completed_successfully}", "rank-0: {required: true}", "missing property 'condition'"},
		"twice":             {"  rank-1:", "  rank-0:", "already defined"},

		"other rank":          {"--rank 1 --ranks 4", "--rank 2 --ranks 4", "not what rank-0 runs"},
		"other plan":          {"--ranks 4 --locks redis-queue,zk-handoff --workers 8 --rounds 6 --sync redis://redis:6379 --out /results/rank-3", "--ranks 4 --locks redis-queue --out /results/rank-3", "not what rank-0 runs"},
		"same directory":      {"--out /results/rank-2", "--out /results/rank-1", "not what rank-0 runs"},
		"ranks":               {"  rank-3:\n    <<: *rank", "  other:\n    <<: *rank", "there are 3 ranks"},
		"merge of fewer":      {"/results/rank-2 /results/rank-3 --out", "/results/rank-2 --out", "leaves out rank-3"},
		"merge does not wait": {"rank-2: {condition: service_completed_successfully}", "rank-2: {condition: service_started}", "does not wait for rank-2"},
		"no such service":     {"    redis:\n      condition", "    valkey:\n      condition", "valkey, which is no service"},
		"no such volume":      {"volumes:\n  results:\n", "volumes:\n  result:\n", "no volume results"},
		"elsewhere":           {"- results:/results", "- results:/result", "has the volumes"},
		"no servers":          {"LOCKLAB_ZOOKEEPER", "ZOOKEEPER", "not told"},
	} {
		t.Run(name, func(t *testing.T) {
			text := composeFile(t)
			if !strings.Contains(text, c.old) {
				t.Fatalf("the file has no %q", c.old)
			}
			text = strings.Replace(text, c.old, c.new, 1)
			if err := judgeCompose([]byte(text), s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
