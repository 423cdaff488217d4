package main

import (
	"cmp"
	"debug/buildinfo"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// sbom writes the modules that the linker recorded in a program, in CycloneDX's JSON.
func sbom(program string, created time.Time, out io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	std := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	components := []cyclonedx.Component{component(std, cyclonedx.ComponentTypeLibrary)}
	for _, module := range info.Deps {
		module = cmp.Or(module.Replace, module)
		if module.Version == "" || module.Version == "(devel)" { // of this repository, which has one version
			module.Version = info.Main.Version
		}
		components = append(components, component(module, cyclonedx.ComponentTypeLibrary))
	}
	bom := cyclonedx.NewBOM()
	application := component(&info.Main, cyclonedx.ComponentTypeApplication)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: created.Format(time.RFC3339), Component: &application}
	bom.Components = &components
	return cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func component(module *debug.Module, kind cyclonedx.ComponentType) cyclonedx.Component {
	url := "pkg:golang/" + module.Path + "@" + module.Version
	return cyclonedx.Component{Type: kind, BOMRef: url, Name: module.Path, Version: module.Version, PackageURL: url}
}
