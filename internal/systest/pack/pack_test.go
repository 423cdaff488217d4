package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build builds this program, which is smaller than uidring, for Linux, and returns a folder with
// the file ARCHITECTURE/uidring.
func build(t *testing.T) (programs, file string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1795377600") // 2026-11-22T20:00:00Z
	programs = t.TempDir()
	file = filepath.Join(programs, runtime.GOARCH, "uidring")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", file, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return programs, file
}

func TestPack(t *testing.T) {
	programs, file := build(t)
	t.Run("image", func(t *testing.T) { testImage(t, programs, file) })
	t.Run("sbom", func(t *testing.T) { testSBOM(t, file) })
}

func testImage(t *testing.T, programs, file string) {
	folders := []string{t.TempDir(), t.TempDir()}
	var digests []v1.Hash
	for _, folder := range folders {
		if err := run([]string{"image", programs, folder}, io.Discard); err != nil {
			t.Fatal(err)
		}
		index, err := layout.ImageIndexFromPath(folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Error(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("two images of one program have the digests %v", digests)
	}
	one := linuxImage(t, folders[0])
	likeContainerfile(t, one)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	files := unpack(t, one, root)
	if want := "data 0700 65534:65534, uidring 0755 0:0"; files != want {
		t.Errorf("files %s, want %s", files, want)
	}
	if got, err := os.ReadFile(filepath.Join(root, "uidring")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the program of the image has %d bytes, want %d: %v", len(got), len(want), err)
	}
	inRoot(t, root)
}

// linuxImage returns the image for this architecture.
func linuxImage(t *testing.T, folder string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(manifest.Manifests); n != 1 || manifest.Manifests[0].Platform.String() != "linux/"+runtime.GOARCH {
		t.Fatalf("%d images, the first for %v", n, manifest.Manifests[0].Platform)
	}
	one, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// likeContainerfile compares the configuration with the last stage of the Containerfile.
func likeContainerfile(t *testing.T, one v1.Image) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operations/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	file, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	_, stage, _ := strings.Cut(string(text), "\nFROM scratch\n")
	got := regexp.MustCompile(`(?m)^(COPY|#).*\n`).ReplaceAllString(stage, "")
	var want strings.Builder
	fmt.Fprintf(&want, "ENV %s\nUSER %s\n", strings.Join(file.Config.Env, " "), file.Config.User)
	for folder := range file.Config.Volumes {
		fmt.Fprintln(&want, "VOLUME", folder)
	}
	for port := range file.Config.ExposedPorts {
		fmt.Fprintln(&want, "EXPOSE", strings.TrimSuffix(port, "/tcp"))
	}
	fmt.Fprintf(&want, "ENTRYPOINT [%q]\nCMD [%q]\n", file.Config.Entrypoint[0], file.Config.Cmd[0])
	if got != want.String() {
		t.Errorf("Containerfile:\n%s\nimage:\n%s", got, &want)
	}
}

// unpack writes the files of an image into a folder, and returns their names, modes and owners.
func unpack(t *testing.T, one v1.Image, root string) string {
	t.Helper()
	stream := mutate.Extract(one)
	defer stream.Close()
	var names []string
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return strings.Join(names, ", ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %04o %d:%d", header.Name, header.Mode, header.Uid, header.Gid))
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, header.Name), data, os.FileMode(header.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// inRoot runs the program where there is no other file.
func inRoot(t *testing.T, root string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Log("chroot needs root on Linux: the program was not run")
		return
	}
	cmd := exec.CommandContext(t.Context(), "chroot", root, "/uidring")
	cmd.Env = []string{"SOURCE_DATE_EPOCH=0"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), usage) {
		t.Errorf("%v, want the usage\n%s", err, out)
	}
}

func testSBOM(t *testing.T, file string) {
	var out bytes.Buffer
	if err := run([]string{"sbom", file}, &out); err != nil {
		t.Fatal(err)
	}
	bom := new(cyclonedx.BOM)
	if err := cyclonedx.NewBOMDecoder(&out, cyclonedx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, c := range *bom.Components {
		listed[c.PackageURL] = true
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(info.Deps) + 1; len(listed) != want || len(*bom.Components) != want {
		t.Errorf("%d components, %d of them apart, want %d: the dependencies and the standard library", len(*bom.Components), len(listed), want)
	}
	if want := "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"); !listed[want] {
		t.Errorf("no component %s", want)
	}
	for _, dep := range info.Deps {
		if want := "pkg:golang/" + dep.Path + "@" + dep.Version; !listed[want] {
			t.Errorf("no component %s", want)
		}
	}
	if bom.Metadata.Timestamp != "2026-11-22T20:00:00Z" {
		t.Errorf("timestamp %s, want the variable SOURCE_DATE_EPOCH", bom.Metadata.Timestamp)
	}
}

func TestRefusals(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if err := run([]string{"sbom", "x"}, io.Discard); err == nil || !strings.Contains(err.Error(), `SOURCE_DATE_EPOCH "soon", allowed: seconds since 1970`) {
		t.Error(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, usage},
		{[]string{"image"}, usage},
		{[]string{"image", t.TempDir(), t.TempDir()}, "no programs"},
		{[]string{"sbom", "pack_test.go"}, "pack_test.go"},
	} {
		if err := run(tt.args, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.args, err, tt.want)
		}
	}
}
