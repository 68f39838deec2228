package measure

import (
	"errors"
	"strings"
	"testing"

	"locklab/harness"
)

func fixedEnv(pairs string) func(string) string {
	vars := make(map[string]string)
	for pair := range strings.FieldsSeq(pairs) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

func TestRead(t *testing.T) {
	const slurm = " SLURM_JOB_ID=7 SLURM_STEP_ID=0 "
	for _, test := range []struct {
		env         string
		rank, ranks int
		job, source string
		err         string
	}{
		{env: ""},
		{env: "PATH=/bin LOCKLAB_RANKS=4"},
		{env: "SLURM_PROCID=3 SLURM_NTASKS=8" + slurm, rank: 3, ranks: 8, job: "7.0", source: "Slurm (SLURM_PROCID, SLURM_NTASKS)"},
		{env: "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=7", ranks: 8, job: "7", source: "Slurm (SLURM_PROCID, SLURM_NTASKS)"},
		{env: "SLURM_PROCID=0", err: "SLURM_PROCID is set by Slurm and SLURM_NTASKS is not"},
		{env: "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", rank: 1, ranks: 2, source: "Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE)"},
		{env: "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 SLURM_PROCID=1 SLURM_NTASKS=2" + slurm, rank: 5, ranks: 6, job: "7.0", source: "Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE)"},
		{env: "PMI_RANK=1 PMI_SIZE=2", rank: 1, ranks: 2, source: "PMI (PMI_RANK, PMI_SIZE)"},
		{env: "PMI_RANK=1"},
		{env: "PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=1 SLURM_NTASKS=2" + slurm, rank: 1, ranks: 2, job: "7.0", source: "PMI (PMI_RANK, PMI_SIZE)"},
		{env: "PMI_RANK=1 PMI_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=2" + slurm, err: "PMI_RANK=1 and PMI_SIZE=2 disagree with SLURM_PROCID=\"0\" and SLURM_NTASKS=\"2\": give --rank and --ranks"},
		{env: "JOB_COMPLETION_INDEX=2 LOCKLAB_RANKS=3", rank: 2, ranks: 3, source: "Kubernetes (JOB_COMPLETION_INDEX, LOCKLAB_RANKS)"},
		{env: "JOB_COMPLETION_INDEX=2", err: "JOB_COMPLETION_INDEX is set by Kubernetes and LOCKLAB_RANKS is not: set it to the number of ranks"},
		{env: "JOB_COMPLETION_INDEX=3 LOCKLAB_RANKS=3", err: "want a rank below the number of ranks"},
		{env: "JOB_COMPLETION_INDEX=-1 LOCKLAB_RANKS=3", err: `JOB_COMPLETION_INDEX="-1": want a number up to 1024`},
		{env: "JOB_COMPLETION_INDEX=0 LOCKLAB_RANKS=1025", err: `LOCKLAB_RANKS="1025": want a number up to 1024`},
		{env: "JOB_COMPLETION_INDEX=0 LOCKLAB_RANKS=0", err: "want a rank below the number of ranks"},
	} {
		rank, ranks, job, source, err := ReadRank(fixedEnv(test.env))
		if test.err != "" {
			requireRefused(t, err, test.err)
			continue
		}
		if err != nil || rank != test.rank || ranks != test.ranks || job != test.job || source != test.source {
			t.Errorf("%q: rank %d of %d, job %q, by %q, %v", test.env, rank, ranks, job, source, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_JOB_ID=7 PMI_RANK=3 PMI_SIZE=8")
	f.Add("JOB_COMPLETION_INDEX=2 LOCKLAB_RANKS=0x3")
	f.Fuzz(func(t *testing.T, text string) {
		rank, ranks, _, source, err := ReadRank(fixedEnv(text))
		switch {
		case err != nil && (!errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%v is no error of one line", err)
		case err == nil && source == "" && (rank != 0 || ranks != 0):
			t.Errorf("rank %d of %d from nowhere", rank, ranks)
		case err == nil && source != "":
			if _, err := (RankOptions{Rank: rank, Ranks: ranks}).complete(); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzSync: no password is in an error or in a shown URL, however the URL is wrong.
func FuzzSync(f *testing.F) {
	const secret = "s3cr3t"
	for _, scheme := range []string{"redis", "rediss", "mysql", "", "re dis", "unix"} {
		for _, user := range []string{"u:", ":", "u:%", "u: ", ""} {
			for _, rest := range []string{"@h:1", "@h", "@h:x", "@h:1/x", "@[::1]:6379/3", "@:1", "@h:1?x=y", "@@h:1", "", "@h:1 ",
				"/x@h:1", "#@h:1", "?@h:1", "\x00@h:1", "p%2F@h:1/", "p w@h:1"} {
				f.Add(scheme+"://"+user, rest)
			}
		}
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + secret + after
		shown := RedactedSync(text)
		hides := strings.Contains(shown, "xxxxx@") && (!strings.Contains(before, "://") || !strings.Contains(shown, secret))
		if shown != RedactedSync(shown) || strings.Contains(after, "@") && !hides {
			t.Errorf("%q is shown as %q, that as %q", text, shown, RedactedSync(shown))
		}
		at, err := parseSync(text)
		switch {
		case err != nil && (!errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret)):
			t.Errorf("%q: %v is no error of one line without the password", text, err)
		case err == nil && (strings.Contains(at.Addr, "@") || at.TLSConfig != nil):
			t.Errorf("%q names %q", text, at.Addr)
		}
	})
}

func TestParseSync(t *testing.T) {
	at, err := parseSync("redis://me:p%40ss@[::1]:6380/3")
	if err != nil || at.Addr != "[::1]:6380" || at.Username != "me" || at.Password != "p@ss" || at.DB != 3 {
		t.Errorf("%+v, %v", at, err)
	}
	for _, url := range []string{"localhost:6379", "rediss://h:1", "zookeeper://h:1", "unix:///h", "redis://u:p@h:1/x", "redis://u:p/x@h:1", "redis://u:12#@h:1", "redis://h:1?db=2"} {
		if _, err := parseSync(url); err == nil {
			t.Errorf("%q is accepted", url)
		}
	}
	for url, want := range map[string]string{
		"redis://h:1": "redis://h:1", "redis://u:p@h:1/3": "redis://xxxxx@h:1/3", "redis://u:p@q@a:1": "redis://xxxxx@a:1", "u:p@h:1": "xxxxx@h:1",
	} {
		if got := RedactedSync(url); got != want {
			t.Errorf("%q is shown as %q, want %q", url, got, want)
		}
	}
}
