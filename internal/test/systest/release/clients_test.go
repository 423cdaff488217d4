package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testserver"
)

// onlyFile returns the file in the folder of a package.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v; want a package", files, err)
	}
	return files[0]
}

// .ci/servers installs setuptools for Debian's Python, which need not be the first one in PATH.
func TestWheelOfThePythonClientCanBeImported(t *testing.T) {
	python := testserver.Program(t, "python3", "python3")
	const tools = "import setuptools.build_meta, wheel"
	if exec.Command(python, "-c", tools).Run() != nil {
		python = "/usr/bin/python3"
	}
	if out, err := exec.Command(python, "-c", tools).CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("missing: setuptools and wheel (Debian packages python3-setuptools, python3-wheel): %v", err)
	}
	dir, out := t.TempDir(), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../../clients/python")); err != nil { // the build writes beside the sources
		t.Fatal(err)
	}
	run(t, dir, nil, python, "-c", "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])", out)
	wheel := onlyFile(t, out)
	const program = "import importlib.metadata, importlib.resources, uidring; print(uidring.__file__, importlib.metadata.version('uidring')); " +
		"importlib.resources.read_text('uidring', 'py.typed')"
	if text := run(t, t.TempDir(), []string{"PYTHONPATH=" + wheel}, python, "-c", program); !strings.HasPrefix(text, wheel+"/uidring/__init__.py ") {
		t.Errorf("the program imports %q, want the module in %s", text, wheel)
	}
}

// npm need not be there: .ci/servers has one of its own for a moment.
func TestPackageOfTheJavaScriptClientHasItsFiles(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(err)
	}
	out := t.TempDir()
	run(t, "../../../../clients/javascript", nil, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", out)
	run(t, out, nil, "tar", "-xzf", onlyFile(t, out))
	for _, file := range []string{"README.md", "index.d.ts", "index.js", "package.json"} {
		if _, err := os.Stat(filepath.Join(out, "package", file)); err != nil {
			t.Error(err)
		}
	}
	if node, err := exec.LookPath("node"); err == nil {
		run(t, filepath.Join(out, "package"), nil, node, "-e", "import('./index.js').then((m) => { if (!m.Client) process.exit(1) })")
	}
}
