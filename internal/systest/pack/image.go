package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user owns /data and runs the program: an ID without rights, which has no name in the image.
const user = 65534

// image writes an index of an image for each architecture into a new folder, as an OCI image
// layout. The programs are the files ARCHITECTURE/uidring below a folder.
func image(programs, folder string, created time.Time) error {
	files, err := filepath.Glob(filepath.Join(programs, "*", "uidring"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no programs %s", filepath.Join(programs, "ARCHITECTURE", "uidring"))
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, file := range files {
		platform := v1.Platform{OS: "linux", Architecture: filepath.Base(filepath.Dir(file))}
		one, err := imageOf(file, platform, created)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	_, err = layout.Write(folder, index)
	return err
}

// imageOf returns the image of a program, with the configuration of docs/operations/Containerfile.
func imageOf(file string, platform v1.Platform, created time.Time) (v1.Image, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, err
	}
	files, err := layer(file, created)
	if err != nil {
		return nil, err
	}
	one := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if one, err = mutate.Append(one, mutate.Addendum{Layer: files, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "uidring"}}); err != nil {
		return nil, err
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, v1.Time{Time: created}
	config.Config = v1.Config{
		Entrypoint:   []string{"/uidring"},
		Cmd:          []string{"serve"},
		Env:          []string{"STATE_DIRECTORY=/data", "UIDRING_LISTEN=:8080"},
		User:         fmt.Sprintf("%d:%d", user, user),
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Labels: map[string]string{
			"org.opencontainers.image.source":   "https://github.com/uidring/uidring",
			"org.opencontainers.image.version":  info.Main.Version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(one, config)
}

// layer returns the files of an image: the program, and the folder /data.
func layer(file string, created time.Time) (v1.Layer, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	archive := tar.NewWriter(&files)
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: user, Gid: user, ModTime: created},
		{Typeflag: tar.TypeReg, Name: "uidring", Mode: 0o755, Size: int64(len(program)), ModTime: created},
	} {
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	if _, err := archive.Write(program); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}
