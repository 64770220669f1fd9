// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	modversion "golang.org/x/mod/module"
)

// serve writes the tagged modules to a folder for use as GOPROXY. See
// https://go.dev/ref/mod#goproxy-protocol.
func (r *release) serve(proxy string) error {
	for _, m := range r.modules {
		if err := r.serveModule(proxy, m); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) serveModule(proxy string, m module) error {
	escaped, err := modversion.EscapePath(m.path())
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	goMod, err := m.file.Format()
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": r.version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": goMod,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, r.version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(r.archive(f, m, m.tag(r.version)), f.Close())
}
