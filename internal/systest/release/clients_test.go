package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testserver"
)

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
	if err := os.CopyFS(dir, os.DirFS("../../../clients/python")); err != nil { // the build writes beside the sources
		t.Fatal(err)
	}
	run(t, dir, nil, python, "-c", "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])", out)
	wheels, err := filepath.Glob(out + "/*")
	if err != nil || len(wheels) != 1 {
		t.Fatalf("files %q, %v; want a package", wheels, err)
	}
	wheel := wheels[0]
	const program = "import importlib.metadata, importlib.resources, uidring; print(uidring.__file__, importlib.metadata.version('uidring')); " +
		"importlib.resources.read_text('uidring', 'py.typed')"
	if text := run(t, t.TempDir(), []string{"PYTHONPATH=" + wheel}, python, "-c", program); !strings.HasPrefix(text, wheel+"/uidring/__init__.py ") {
		t.Errorf("the program imports %q, want the module in %s", text, wheel)
	}
}
