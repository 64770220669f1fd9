// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
)

// platforms are the tags of the systems and processors that a static binary runs on. See
// https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/.
//
// A static binary needs no C library, so it runs wherever glibc or musl programs do. Go
// 1.26 needs macOS 12.
var platforms = map[string]string{
	"linux/amd64":   "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

func platform(system, arch string) (string, error) {
	p, ok := platforms[system+"/"+arch]
	if !ok {
		return "", fmt.Errorf("no platform tag is known for %s/%s", system, arch)
	}
	return p, nil
}

// described matches a version tag, or the output of git describe for a later commit.
var described = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-rc\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?$`)

// pythonVersion converts a version to PEP 440: v0.2.0-rc.1 becomes 0.2.0rc1. A commit
// after a tag becomes a post-release with the commit as local label.
func pythonVersion(version string) (string, error) {
	m := described.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("%q is not a version such as v0.1.0, v0.1.0-rc.1 or v0.1.0-5-g0123abc", version)
	}
	python := m[1]
	if m[2] != "" {
		python += "rc" + m[2]
	}
	if m[3] != "" {
		python += ".post" + m[3] + "+g" + m[4]
	}
	return python, nil
}
