// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// budget is the most bytes that the page may have in all, before compression.
const budget = 350_000

// output is a bundle: the content of its files by name, and the inputs it was made of.
type output struct {
	files  map[string][]byte
	inputs []string // paths relative to the folder of the page, with slashes
}

func (o *output) size() int {
	n := 0
	for _, content := range o.files {
		n += len(content)
	}
	return n
}

// bundle makes the page from the folder of its source. Libraries are looked up in the
// folder libraries.
func bundle(page, libraries string) (*output, error) {
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/main.tsx", OutputPath: "app"}},
		AbsWorkingDir:       page,
		Outdir:              filepath.Join(page, "dist"),
		NodePaths:           []string{libraries},
		Bundle:              true,
		Metafile:            true,
		Format:              api.FormatESModule,
		Target:              api.ES2022,
		Charset:             api.CharsetUTF8,
		JSX:                 api.JSXAutomatic,
		JSXImportSource:     "preact",
		LegalComments:       api.LegalCommentsNone,
		MinifyWhitespace:    true,
		MinifyIdentifiers:   true,
		MinifySyntax:        true,
		// A file of the user, such as a tsconfig.json above the clone, changes nothing.
		TsconfigRaw: `{"compilerOptions":{"target":"ES2022"}}`,
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	for _, warning := range api.FormatMessages(result.Warnings, api.FormatMessagesOptions{Kind: api.WarningMessage}) {
		fmt.Fprint(os.Stderr, warning)
	}
	o := &output{files: map[string][]byte{}}
	for _, f := range result.OutputFiles {
		o.files[filepath.Base(f.Path)+".gz"] = f.Contents
	}
	index, err := os.ReadFile(filepath.Join(page, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	o.files["index.html"] = index
	var meta struct {
		Inputs map[string]json.RawMessage `json:"inputs"`
	}
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, err
	}
	for input := range meta.Inputs {
		o.inputs = append(o.inputs, input)
	}
	return o, nil
}

func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func expand(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
