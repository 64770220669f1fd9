// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/export/geotiff"
	"varve.dev/zarr/internal/export/netcdf"
)

// formats are those of files with coordinates, by the ends of their names.
var formats = map[string]export.FileFormat{
	"nc":  netcdf.Format{Variant: export.NetCDF4, Unlimited: []string{}, Deflate: 4},
	"tif": geotiff.Format{Deflate: 4, Folder: os.TempDir()},
}

// Files are on disk while they are made and sent.
const (
	mostExported = 512 << 20 // bytes of elements
	mostFiles    = 2         // at the same time
)

// download is a file with selected elements.
type download struct {
	*os.File
	name string
	end  func()
}

// export makes a file of selected elements with their coordinates.
func (h *Handler) export(ctx context.Context, q *query) (any, error) {
	to := formats[q.format]
	if to == nil && q.format != "csv" {
		return nil, refuse(http.StatusBadRequest, "format= is nc, tif or csv; /@values has others")
	}
	a, v, err := h.openSelected(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	src, err := export.Of(ctx, v, q.decode)
	if err != nil {
		return nil, a.unselected(ctx, err)
	}
	if src.Bytes > mostExported {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the selection is larger than a file of the page: varve export writes files of any size")
	}
	select {
	case h.making <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	held, err := h.work.AcquireMore(ctx, h.Memory/4)
	end := func() { h.work.ReleaseMore(held); <-h.making }
	if err != nil {
		<-h.making
		return nil, err
	}
	src.Memory = h.Memory / 8
	name := path.Base("/" + a.node())
	made := &download{name: safeName(name) + "." + q.format, end: end}
	if made.File, err = os.CreateTemp("", "varve-"); err != nil {
		end()
		return nil, err
	}
	if to == nil {
		err = a.writeTable(ctx, src, made.File)
	} else {
		err = a.writeFile(ctx, name, src, to, made.File)
	}
	if err != nil {
		made.close()
		kind := zarr.KindOf(err)
		if ctx.Err() == nil && (kind == "invalid-argument" || kind == "unsupported" || kind == "limit") {
			err = refuse(http.StatusNotAcceptable, "%s", strings.ReplaceAll(err.Error(), a.Location().String(), a.node()))
		}
		return nil, err
	}
	return made, nil
}

// writeFile writes elements and the arrays that describe them.
func (a *array) writeFile(ctx context.Context, name string, src *export.Source, to export.FileFormat, f *os.File) error {
	d, err := export.DatasetWith(ctx, name, src)
	if err != nil {
		return err
	}
	for _, v := range d.Variables {
		if _, is := a.shown.node(v.Array.Path()); !is {
			return refuse(http.StatusForbidden, "the file would have arrays that are not shown: show the group above")
		}
	}
	if err := to.Check(ctx, d); err != nil {
		return err
	}
	return to.Write(ctx, d, f)
}

// writeTable writes elements as CSV, in which no cell is a formula.
func (a *array) writeTable(ctx context.Context, src *export.Source, f *os.File) error {
	if err := src.Settle(ctx); err != nil {
		return err
	}
	err := export.AddHeadings(ctx, src, func(c *zarr.Array) bool {
		_, is := a.shown.node(c.Path())
		return is
	}, func(string) {})
	if err != nil {
		return err
	}
	g := &guard{to: bufio.NewWriterSize(f, 1<<16), begins: true}
	w := bufio.NewWriter(g)
	if err := export.Write(ctx, src, export.CSV, w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	g.settle()
	return g.to.Flush()
}

// close removes the file.
func (d *download) close() {
	_, _ = d.File.Close(), os.Remove(d.Name()) // nobody can do more
	d.end()
}

// write answers with the file.
func (d *download) write(w http.ResponseWriter) {
	defer d.close()
	n, err := d.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = d.Seek(0, io.SeekStart)
	}
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	_, _ = io.Copy(w, d.File) // the client may have gone
}

// safeName returns a name that means nothing else to any system.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (plainName(string(r)) || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, name)
	return "varve_" + strings.Trim(safe[:min(len(safe), 80)], ".")
}

// guard writes CSV. A cell that begins as formulas do gets an apostrophe, so that no
// program for tables executes it.
type guard struct {
	to             *bufio.Writer
	begins, quoted bool   // the next byte is the first one of a cell; it lies in quotes
	held           []byte // the beginning of a cell with a sign, which may be a number
}

// longestNumber bounds the bytes of a number with a sign.
const longestNumber = 40

// Write implements [io.Writer].
func (g *guard) Write(p []byte) (int, error) {
	for _, b := range p {
		ends := !g.quoted && (b == ',' || b == '\n')
		if g.held != nil && (ends || b == '"' || len(g.held) > longestNumber) {
			g.settle() // what is longer is no number
		}
		switch {
		case g.held != nil:
			g.held = append(g.held, b)
			continue
		case b == '"':
			// The first quote opens the cell. No formula follows a second one.
			g.begins, g.quoted = g.begins && !g.quoted, !g.quoted
			g.to.WriteByte(b) // a bufio.Writer keeps its error
			continue
		case g.begins && !g.quoted && (b == '+' || b == '-'):
			g.held, g.begins = append(g.held, b), false
			continue
		case g.begins && strings.IndexByte("=@\t\r+-", b) >= 0:
			// No number is in quotes.
			g.to.WriteByte('\'')
		}
		g.begins = ends
		g.to.WriteByte(b)
	}
	return len(p), nil
}

// settle writes the beginning of a cell.
func (g *guard) settle() {
	if _, err := strconv.ParseFloat(string(g.held), 64); g.held != nil && (err != nil || len(g.held) > longestNumber) {
		g.to.WriteByte('\'')
	}
	g.to.Write(g.held)
	g.held = nil
}
