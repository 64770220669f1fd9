// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/serve/page"
)

// NewView returns the command view.
func NewView() *cobra.Command {
	f := &serveFlags{view: true}
	noBrowser := false
	c := &cobra.Command{
		Use:   "view NODE…, view NAME=NODE…, view FILE… --concat DIM",
		Short: "Show nodes in a browser: values, chunks, what reading costs",
		Long: `Show nodes in a browser: the values of any array, how it is cut, what is stored of it, what reading a
part of it costs, and how it grows. The page is part of this program and asks no other host. It is at
http://ADDRESS/@view/, and ends with the command. Nodes are served as by varve serve, with its flags.`,
		Example: `  varve view era5.zarr
  varve view 'data/*.nc' --concat time
  varve view era5.zarr --no-browser --listen 127.0.0.1:8000`,
	}
	f.define(c, "127.0.0.1:0")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "start no browser; the address of the page is printed")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f.browser = !noBrowser
		if f.concat == "" && f.stack == "" {
			args = expanded(args)
		}
		return f.run(cmd, args)
	}
	return c
}

// expanded returns the arguments with the files that each pattern means, which are shown
// one beside the other.
func expanded(args []string) (all []string) {
	for _, arg := range args {
		found, err := filepath.Glob(arg)
		if err != nil || len(found) == 0 || !strings.ContainsAny(arg, "*?[") {
			found = []string{arg}
		}
		all = append(all, found...)
	}
	return all
}

// openBrowser opens an address in the browser of the user. Where there is none, the
// address that was printed has to do.
func openBrowser(cmd *cobra.Command, address string) {
	opener := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		opener = []string{"open"}
	case "windows":
		opener = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		// Without a display it would start a browser in this terminal.
		if os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	process := exec.Command(opener[0], append(opener[1:], address)...)
	if err := process.Start(); err != nil {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "note: no browser could be started: open the address of the page")
		return
	}
	go func() { _ = process.Wait() }() // whatever becomes of it
}

// newPage returns the handler of the page.
func newPage(cmd *cobra.Command, f *serveFlags, nodes []opened, base string, log *slog.Logger) (http.Handler, error) {
	list, locations := []page.Node{}, map[string]string{}
	for _, n := range nodes {
		list = append(list, page.Node{Name: n.name, Location: n.at})
		locations[n.name] = n.location
	}
	d := &describer{base: base, locations: locations, several: f.concat != "" || f.stack != ""}
	program := strings.TrimSpace("varve " + cmd.Root().Annotations["version"])
	return page.New(list, &page.Options{
		Program: program, Memory: cmp.Or(f.budget, defaultBudget), Facts: d.describe, Log: log,
		Named: func(name string) string { where, _ := d.locate(name); return word(where) },
	})
}

// describer says what info says of nodes.
type describer struct {
	base      string            // address of the server
	locations map[string]string // of the nodes, by their names
	several   bool              // the location is that of several files
}

// locate returns where a node is, and whether that is not a node but a file.
func (d *describer) locate(name string) (location string, isFile bool) {
	root, below, _ := strings.Cut(name, "/")
	location = d.locations[root]
	isFile = d.several || node.IsForeign(location)
	if d.several {
		return d.address("", name), true
	}
	if below != "" {
		location = strings.TrimSuffix(location, "/") + "/" + below
		if !strings.Contains(location, "://") {
			location = filepath.FromSlash(location)
		}
	}
	return location, isFile
}

// word quotes a location for a shell. One that begins like a flag is none.
func word(location string) string {
	if strings.HasPrefix(location, "-") {
		location = "./" + location
	}
	return phrase.Word(location)
}

// text quotes a text for all languages that are shown: as JSON.
func text(s string) string { return string(strictjson.AppendQuote(nil, s)) }

// describe returns the facts of a node.
func (d *describer) describe(ctx context.Context, name string, at *zarr.Location, n zarr.Node) (*page.Facts, error) {
	location, isFile := d.locate(name)
	made := new(page.Facts)
	a, is := n.(*zarr.Array)
	if !is {
		made.Open = d.open(location, name, isFile, true, true)
		if n != nil {
			for _, text := range n.Notes() {
				made.Findings = append(made.Findings, page.Finding{Text: text})
			}
		}
		return made, nil
	}
	f := facts.Describe(location, a.Metadata())
	f.AddGrid(a.Grid())
	f.AddInner(a)
	f.AddGuard(a)
	f.AddSize(a.Type())
	f.Filled, _ = cf.MasksFill(ctx, a) // the page says what is missing
	f.Readers = facts.ReadersOf(ctx, a)
	if isFile {
		f.Readers = facts.ReadersOfFile()
	}
	if f.Pending = facts.PendingAt(ctx, a); f.Pending != nil {
		f.Notes = append(f.Notes, f.Pending.Text())
	}
	made.Facts = append(f.Sheet().Lines(), [2]string{"readable by", f.Readers.Text()})
	for _, text := range append(a.Notes(), f.Notes...) {
		made.Findings = append(made.Findings, page.Finding{Text: text})
	}
	if better := phrase.BetterChunks(a.Grid()); better != "" && !isFile {
		made.Findings = append(made.Findings, page.Finding{Text: "chunks are stored longer than the array needs", Command: "varve rechunk " + word(location) + " --chunks " + phrase.Word(better)})
	}
	python := slices.ContainsFunc(f.Readers.Known, func(text string) bool { return strings.HasPrefix(text, "zarr-python") })
	if len(f.Readers.Refusing) > 0 && !isFile {
		made.Findings = append(made.Findings, page.Finding{
			Text: "not readable by " + strings.Join(f.Readers.Refusing, ", ") + ": the address " + d.address("@regular/", name) + " is, while this server runs",
		})
	}
	made.Open = d.open(location, name, isFile, false, python)
	return made, ctx.Err()
}

// address returns the address of a node on this server.
func (d *describer) address(view, name string) string {
	return d.base + view + (&url.URL{Path: name}).EscapedPath()
}

// goCode opens a node in Go. The kind of the node is a part of the name of the function.
const goCode = "node, err := zarr.%s(ctx, %s, nil)"

// open returns how to open a node: where it is if the language can, and else from this
// server.
func (d *describer) open(location, name string, isFile, isGroup, python bool) []page.Code {
	what, open := "array", "OpenArray"
	if isGroup {
		what, open = "group", "OpenGroup"
	}
	regular := d.address("@regular/", name)
	from := location
	if isFile || !python {
		from = regular
	}
	code := []page.Code{
		{Language: "shell", Code: "varve info " + word(location)},
		{Language: "python", Code: fmt.Sprintf("import zarr\nnode = zarr.open_%s(%s, mode=\"r\")", what, text(from))},
		{Language: "r", Code: fmt.Sprintf("library(Rarr)\nnode <- read_zarr_array(%s)", text(regular))},
		{Language: "go", Code: fmt.Sprintf(goCode, open, text(location))},
		{Language: "javascript", Code: fmt.Sprintf("import {open, FetchStore} from \"zarrita\";\nconst node = await open(new FetchStore(%s), {kind: %q});", text(regular), what)},
	}
	if isFile {
		code[3].Code = fmt.Sprintf(goCode, open, text(d.address("", name)))
	}
	if isGroup {
		code[2].Code = fmt.Sprintf("library(Rarr)\nzarr_overview(%s)", text(regular))
	}
	return code
}
