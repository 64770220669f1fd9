// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
)

// anndataRules are rules of the format of anndata on disk.
var anndataRules = []Rule{
	{"anndata/encoding", "anndata, element", false, "set both attributes, as anndata writes them"},
	{"anndata/kind", "anndata, element", false, "write the element anew with anndata"},
	{"anndata/frames", "anndata, anndata", false, "store the dataframe, which may have no columns"},
	{"anndata/index", "anndata, dataframe", false, "set _index to the name of the array"},
	{"anndata/columns", "anndata, dataframe", false, "list the columns that are there"},
	{"anndata/rows", "anndata, dataframe", false, "write the column anew, or remove it from the dataframe"},
	{"anndata/shape", "anndata, anndata", false, "write the element anew, or the dataframe that does not fit it"},
	{"anndata/sparse", "anndata, sparse array", false, "write the matrix anew"},
	{"anndata/categories", "anndata, categorical", false, "write the column anew"},
	{"anndata/codes", "anndata, categorical", false, "write the codes anew: readers fail at them"},
	{"anndata/mask", "anndata, nullable", false, "write the column anew"},
}

// anndata asks the rules of anndata about a node.
func (j *judge) anndata() {
	kind, version := j.a["encoding-type"], j.a["encoding-version"]
	if kind == nil && version == nil {
		return
	}
	of, isText := kind.(string)
	if _, both := version.(string); !isText || !both {
		j.broken("encoding", "encoding-type is %.80v and encoding-version %.80v", kind, version)
	}
	switch of {
	case "anndata", "dataframe", "csr_matrix", "csc_matrix", "categorical", "nullable-integer", "nullable-boolean", "nullable-string-array":
		if j.kind == "array" {
			j.broken("kind", "%s is the encoding of an array", of)
			return
		}
	case "array", "string-array", "string", "numeric-scalar":
		if j.kind == "group" {
			j.broken("kind", "%s is the encoding of a group", of)
		}
		return
	}
	switch of {
	case "anndata":
		j.anndataShapes()
	case "dataframe":
		j.anndataFrame()
	case "csr_matrix", "csc_matrix":
		j.anndataSparse(of)
	case "categorical":
		j.anndataCategories()
	case "nullable-integer", "nullable-boolean", "nullable-string-array":
		values, mask := j.part("values"), j.part("mask")
		if j.isGone(values) || j.isGone(mask) || mask != nil && mask.kind == "array" && mask.typ.Kind() != dtype.KindBool ||
			values != nil && mask != nil && !slices.Equal(values.shape, mask.shape) {
			j.broken("mask", "values and mask are not two arrays of one shape, with true and false in the mask")
		}
	}
}

// part returns the member of a name, or nil.
func (j *judge) part(name string) *node { return j.byPath[joined(j.path, name)] }

// isGone reports whether a member is not there, or no array.
func (j *judge) isGone(n *node) bool {
	return n == nil && !j.partial || n != nil && n.kind == "group"
}

// extent returns the shape of an element, or nil if it is not known.
func (j *judge) extent(n *node) []int64 { return j.sized(n, 0) }

// sized returns the shape of an element: that of an array, of a sparse array, of the
// index of a dataframe, of the codes of a categorical or of the values of a nullable
// column, which may be such elements themselves.
func (j *judge) sized(n *node, depth int) []int64 {
	if n == nil || n.kind != "group" {
		if n == nil {
			return nil
		}
		return n.shape
	}
	a := j.attributesOf(n)
	part := ""
	switch of := textOf(a, "encoding-type"); of {
	case "csr_matrix", "csc_matrix":
		if size, ok := listOf(a["shape"], 2); ok {
			return []int64{int64(size[0]), int64(size[1])}
		}
	case "dataframe":
		part = textOf(a, "_index")
	case "categorical":
		part = "codes"
	case "nullable-integer", "nullable-boolean", "nullable-string-array":
		part = "values"
	}
	if part == "" || depth > 4 {
		return nil
	}
	return j.sized(j.byPath[joined(n.path, part)], depth+1)
}

// anndataShapes asks whether the parts of an AnnData fit each other.
func (j *judge) anndataShapes() {
	rows := map[string]int64{} // -1 if it is not known
	for _, name := range []string{"obs", "var"} {
		n := j.part(name)
		if n == nil && !j.partial || n != nil && n.kind != "" && textOf(j.attributesOf(n), "encoding-type") != "dataframe" {
			j.broken("frames", "%s is no dataframe", name)
		}
		rows[name] = -1
		if size := j.extent(n); len(size) > 0 {
			rows[name] = size[0]
		}
	}
	fits := func(n *node, along ...string) {
		size := j.extent(n)
		for i, name := range along {
			if size != nil && rows[name] >= 0 && (len(size) <= i || size[i] != rows[name]) {
				j.broken("shape", "%s has the shape %v, and %s the length %d", n.path, size, name, rows[name])
				return
			}
		}
	}
	fits(j.part("X"), "obs", "var")
	for _, group := range [][]string{{"layers", "obs", "var"}, {"obsm", "obs"}, {"varm", "var"}, {"obsp", "obs", "obs"}, {"varp", "var", "var"}} {
		for _, n := range j.members[joined(j.path, group[0])] {
			fits(n, group[1:]...)
		}
	}
}

// anndataFrame asks about the index and the columns of a dataframe.
func (j *judge) anndataFrame() {
	name := textOf(j.a, "_index")
	index := j.part(name)
	// A newer anndata also writes nullable texts, which are a group.
	if name == "" || index == nil && !j.partial || index != nil && index.kind == "group" && j.extent(index) == nil {
		j.broken("index", "_index %.80q is not the name of an array", j.a["_index"])
		index = nil
	}
	names, ok := texts(j.a["column-order"])
	if !ok {
		j.broken("columns", "column-order is no list of names")
	}
	for _, name := range names {
		n := j.part(name)
		if n == nil {
			if !j.partial {
				j.broken("columns", "column-order names %.80q, which is not there", name)
			}
			continue
		}
		rows, all := j.extent(n), j.extent(index)
		if len(rows) > 0 && len(all) > 0 && rows[0] != all[0] {
			j.broken("rows", "column %s has the length %d, and the index %d", name, rows[0], all[0])
		}
	}
}

// anndataSparse asks about the three arrays of a sparse one.
func (j *judge) anndataSparse(of string) {
	size, ok := listOf(j.a["shape"], 2)
	data, indices, starts := j.part("data"), j.part("indices"), j.part("indptr")
	for _, n := range []*node{data, indices, starts} {
		ok = ok && !j.isGone(n)
	}
	if !ok {
		j.broken("sparse", "a %s has not data, indices, indptr and a shape", strings.TrimSuffix(of, "_matrix"))
		return
	}
	major := int64(size[0])
	if of == "csc_matrix" {
		major = int64(size[1])
	}
	unequal := func(n *node, length int64) bool {
		return n != nil && n.kind == "array" && !slices.Equal(n.shape, []int64{length})
	}
	if unequal(starts, major+1) {
		j.broken("sparse", "indptr has the shape %v, and the matrix %v", starts.shape, size)
	}
	if data != nil && data.kind == "array" && len(data.shape) == 1 && unequal(indices, data.shape[0]) {
		j.broken("sparse", "indices has the shape %v, and data %v", indices.shape, data.shape)
	}
}

// anndataCategories asks about codes and categories.
func (j *judge) anndataCategories() {
	codes, categories := j.part("codes"), j.part("categories")
	_, isFlag := j.a["ordered"].(bool)
	if !isFlag || j.isGone(codes) || categories == nil && !j.partial || codes != nil && codes.kind == "array" && !isInteger(codes.typ) {
		j.broken("categories", "codes, categories or ordered are missing, or of another type")
		return
	}
	size := j.extent(categories)
	if codes == nil || codes.kind != "array" || len(size) != 1 {
		return
	}
	if least, most, ok := j.extremes(codes); ok && (least < -1 || most >= float64(size[0])) {
		j.broken("codes", "codes reach from %v to %v, and the categories have the length %d", least, most, size[0])
	}
}
