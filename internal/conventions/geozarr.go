// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// geoRules are rules of the conventions that the attribute zarr_conventions registers,
// and of three of them: proj, spatial and multiscales.
var geoRules = []Rule{
	{"geozarr/registry", "Zarr conventions, registration", false, "write a list, with one object for each convention"},
	{"geozarr/identity", "Zarr conventions, registration", false, "set the uuid of the convention"},
	{"geozarr/members", "Zarr conventions, registration", false, "move the member to the attributes"},
	{"geozarr/registered", "Zarr conventions, registration", true, "add the convention to zarr_conventions"},
	{"geozarr/crs", "proj, properties", false, "set proj:code, such as EPSG:4326"},
	{"geozarr/code", "proj, proj:code", false, "write the code as in EPSG:4326"},
	{"geozarr/dimensions", "spatial, spatial:dimensions", false, "name the dimensions of y and x, in this order"},
	{"geozarr/bbox", "spatial, spatial:bbox", false, "write four numbers in this order"},
	{"geozarr/transform", "spatial, spatial:transform", false, "write the numbers a, b, c, d, e, f of x = a·column + b·row + c, y = d·column + e·row + f"},
	{"geozarr/shape", "spatial, spatial:shape", false, "write the height and the width"},
	{"geozarr/registration", "spatial, spatial:registration", false, "set it to pixel or node"},
	{"geozarr/layout", "multiscales, layout", false, "write an object for each level"},
	{"geozarr/asset", "multiscales, asset", false, "correct the path, or store the level"},
	{"geozarr/relative", "multiscales, transform", false, "set transform, such as {\"scale\": [2, 2]}"},
}

// registered are the conventions that are known here, by uuid.
var registered = map[string]string{
	"f17cb550-5864-4468-aeb7-f3180cfb622f": "proj",
	"689b58e2-cf7b-45e0-9fff-9cfc0883d6b4": "spatial",
	"d35379db-88df-4056-af3a-620245f8e347": "multiscales",
}

// geo asks the rules of the registered conventions about a node.
func (j *judge) geo() {
	names := j.geoNames()
	if slices.Contains(names, "proj") {
		j.geoCRS()
	}
	if slices.Contains(names, "spatial") {
		j.geoSpatial()
	}
	if slices.Contains(names, "multiscales") {
		j.geoLevels()
	}
	for _, name := range []string{"spatial:dimensions", "spatial:transform", "spatial:bbox", "proj:code", "proj:projjson"} {
		of, _, _ := strings.Cut(name, ":")
		if j.a[name] != nil && !slices.Contains(names, of) && j.a["zarr_conventions"] != nil {
			j.broken("registered", "%s is there, and zarr_conventions does not name %s", name, of)
		}
	}
}

// geoNames returns which known conventions a node registers, and asks about the entries.
func (j *judge) geoNames() (names []string) {
	v := j.a["zarr_conventions"]
	if v == nil {
		return nil
	}
	list, ok := objects(v)
	if !ok {
		j.broken("registry", "zarr_conventions is no list of objects")
	}
	const identities = "uuid schema_url spec_url"
	for i, entry := range list {
		identified := false
		for _, name := range slices.Sorted(maps.Keys(entry)) {
			_, isText := entry[name].(string)
			if !among(identities+" name description", name) {
				j.broken("members", "entry %d of zarr_conventions has the member %.80q", i, name)
			} else if !isText {
				j.broken("identity", "%s of entry %d of zarr_conventions is no text", name, i)
			}
			identified = identified || among(identities, name)
		}
		if !identified {
			j.broken("identity", "entry %d of zarr_conventions has none of uuid, schema_url and spec_url", i)
		}
		name := registered[strings.ToLower(textOf(entry, "uuid"))]
		for _, known := range registered { // of entries without a uuid
			if name == "" && strings.Contains(textOf(entry, "schema_url"), "/zarr-conventions/"+known+"/") {
				name = known
			}
		}
		names = append(names, name)
	}
	return names
}

// geoCRS asks about the coordinate reference system.
func (j *judge) geoCRS() {
	if j.a["proj:code"] == nil && j.a["proj:wkt2"] == nil && j.a["proj:projjson"] == nil {
		j.broken("crs", "proj is registered, and none of proj:code, proj:wkt2 and proj:projjson is there")
	}
	authority, code, _ := strings.Cut(textOf(j.a, "proj:code"), ":")
	if v := j.a["proj:code"]; v != nil && (authority == "" || code == "" || strings.Contains(code, ":")) {
		j.broken("code", "proj:code %.80q has not the form AUTHORITY:CODE", v)
	}
}

// geoSpatial asks about the place of the pixels.
func (j *judge) geoSpatial() {
	dims, ok := texts(j.a["spatial:dimensions"])
	ok = ok && len(dims) == 2
	switch {
	case j.a["spatial:dimensions"] == nil && j.kind == "group":
		dims = nil
	case !ok:
		j.broken("dimensions", "spatial:dimensions has not the names of two dimensions")
		dims = nil
	}
	var shape []float64
	for _, dim := range dims {
		if i := slices.Index(j.node.dims, dim); i >= 0 {
			shape = append(shape, float64(j.shape[i]))
		} else if j.kind == "array" {
			j.broken("dimensions", "spatial:dimensions names %.80q, which is no dimension of the array", dim)
		}
	}
	if v := j.a["spatial:bbox"]; v != nil {
		box, ok := listOf(v, 4)
		if !ok || box[0] > box[2] || box[1] > box[3] {
			j.broken("bbox", "spatial:bbox is not xmin, ymin, xmax, ymax")
		}
	}
	j.geoPlace(j.a, shape, "")
	if v := j.a["spatial:registration"]; v != nil && v != "pixel" && v != "node" {
		j.broken("registration", "spatial:registration is %.80q", v)
	}
}

// geoPlace asks about the transform and the shape, of a node or of a level.
func (j *judge) geoPlace(a object, shape []float64, of string) {
	affine := a["spatial:transform_type"] == nil || a["spatial:transform_type"] == "affine"
	if _, ok := listOf(a["spatial:transform"], 6); !ok && affine && a["spatial:transform"] != nil {
		j.broken("transform", "spatial:transform%s has not six numbers", of)
	}
	if a["spatial:shape"] == nil {
		return
	}
	given, ok := listOf(a["spatial:shape"], 2)
	if ok = ok && !slices.ContainsFunc(given, func(f float64) bool { return !isIndex(f) || f < 1 }); !ok || len(shape) == 2 && !slices.Equal(given, shape) {
		j.broken("shape", "spatial:shape%s is not the lengths of two dimensions%s", of, lengths(shape))
	}
}

// lengths names the lengths that a message expects, if they are known.
func lengths(shape []float64) string {
	if len(shape) != 2 {
		return ""
	}
	return fmt.Sprintf(", %v", shape)
}

// geoLevels asks about the levels of a pyramid.
func (j *judge) geoLevels() {
	scales, _ := j.a["multiscales"].(object)
	levels, ok := objects(scales["layout"])
	if !ok || len(levels) == 0 {
		j.broken("layout", "multiscales has no layout with levels")
	}
	for i, level := range levels {
		for _, name := range []string{"asset", "derived_from"} {
			at, isText := level[name].(string)
			n, judged := j.member(j.path, at)
			switch {
			case level[name] == nil && name == "derived_from":
			case !isText || at == "" || strings.HasPrefix(at, "/") || strings.Contains(at, ".."):
				j.broken("asset", "%s of level %d is no path below the group", name, i)
			case n == nil && judged:
				j.broken("asset", "%s of level %d is %.80q, and there is no such node", name, i, at)
			}
		}
		transform, isObject := level["transform"].(object)
		if !isObject && (level["derived_from"] != nil || level["transform"] != nil) {
			j.broken("relative", "level %d has no transform that is an object", i)
		}
		for _, name := range []string{"scale", "translation"} {
			_, isNumber := transform[name].(float64)
			if _, ok := numbers(transform[name]); transform[name] != nil && (!ok || isNumber) {
				j.broken("relative", "%s of level %d is no list of numbers", name, i)
			}
		}
		j.geoPlace(level, nil, fmt.Sprintf(" of level %d", i))
	}
}
