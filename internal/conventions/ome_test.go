// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"strings"
	"testing"
)

// slide is right by OME-Zarr 0.5: a plate whose one image has two levels and labels.
const slide = `
/ group {"ome": {"version": "0.5", "bioformats2raw.layout": 3, "plate": {"rows": [{"name": "A"}, {"name": "b2"}], "columns": [{"name": "1"}], "acquisitions": [{"id": 0}, {"id": 4}], "wells": [{"path": "b2/1", "rowIndex": 1, "columnIndex": 0}]}}}
/b2 group
/b2/1 group {"ome": {"version": "0.5", "well": {"images": [{"path": "0", "acquisition": 4}]}}}
/b2/1/0 group {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "t", "type": "time", "unit": "s"}, {"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1, 1]}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 0.5, 0.5]}, {"type": "translation", "translation": [0, 0, 0, 0]}]}, {"path": "l/1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1, 1]}]}]}], "omero": {"channels": [{"color": "ff00FF", "window": {"min": 0, "max": 9, "start": 0, "end": 9}}]}}}
/b2/1/0/0 uint16 2,1,8,8 t,c,y,x
/b2/1/0/l group
/b2/1/0/l/1 uint16 2,1,4,4 t,c,y,x
/b2/1/0/labels group {"ome": {"version": "0.5", "labels": ["cells"]}}
/b2/1/0/labels/cells group {"ome": {"version": "0.5", "image-label": {"colors": [{"label-value": 1, "rgba": [0, 0, 0, 255]}, {"label-value": 2}], "properties": [{"label-value": 1}, {"label-value": 1}]}, "multiscales": [{"axes": [{"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}, {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}]}]}}
/b2/1/0/labels/cells/0 int32 8,8 y,x
/b2/1/0/labels/cells/1 int32 4,4 y,x
/other group {"labels": ["of another program"], "multiscales": {"layout": []}}
/labels group {"labels": 3}
`

// space is a right image of the axes y and x, with replacements of its text.
func space(path string, replace ...string) string {
	line := `group {"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}, {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}]}]}}`
	return path + " " + strings.NewReplacer(replace...).Replace(line)
}

// flat is the image of space with its arrays.
var flat = space("/") + `
	/0 uint8 8,8 y,x
	/1 uint8 4,8 y,x
`

// old is an image of OME-Zarr 0.4, with its labels.
const old = `
/ group {"multiscales": [{"version": "0.4", "axes": [{"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]}
/0 uint8 8,8 -
/labels group {"labels": ["cells"]}
/labels/cells group {"image-label": {"version": "0.4"}, "multiscales": [{"version": "0.4", "axes": [{"name": "y", "type": "space", "unit": "m"}, {"name": "x", "type": "space", "unit": "m"}], "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]}
/labels/cells/0 uint8 8,8 -
`

func TestOMEPlate(t *testing.T) {
	plate := func(replace ...string) string {
		line, _, _ := strings.Cut(strings.TrimSpace(slide), "\n")
		return strings.NewReplacer(replace...).Replace(line)
	}
	well := func(text string) string { return `/b2/1 group {"ome": {"version": "0.5", "well": ` + text + `}}` }
	labels := func(text string) string {
		return `/b2/1/0/labels group {"ome": {"version": "0.5", "labels": ` + text + `}}`
	}
	label := func(replace ...string) string {
		for line := range strings.Lines(slide) {
			if strings.HasPrefix(line, "/b2/1/0/labels/cells group") {
				return strings.NewReplacer(replace...).Replace(line)
			}
		}
		return ""
	}
	cases{
		{rule: "version", broken: labels(`["cells"]`)[:len("/b2/1/0/labels group ")] + `{"ome": {"labels": ["cells"]}}`},
		{rule: "one-version", broken: plate(`"0.5"`, `"0.6"`), right: plate(`"version": "0.5"`, `"version": "0.5", "more": 1`)},
		{rule: "layout", broken: plate(`layout": 3`, `layout": 2`)},
		{rule: "labels", broken: labels(`["cells", "gone"]`), right: labels(`["cells"]`)},
		{rule: "labels", broken: labels(`"cells"`)},
		{rule: "labels", broken: labels(`["cells/0"]`)},
		{rule: "label-type", broken: `/b2/1/0/labels/cells/1 float32 4,4 y,x
			/b2/1/0/labels/cells/0 float32 8,8 y,x`, right: `/b2/1/0/labels/cells/1 uint8 4,4 y,x
			/b2/1/0/labels/cells/0 uint8 8,8 y,x`},
		{rule: "label-levels", broken: label(`, {"path": "1", "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}]}`, "")},
		{rule: "label-colors", broken: label(`"label-value": 2`, `"label-value": 1`), right: label(`"label-value": 2`, `"label-value": 3`)},
		{rule: "label-colors", broken: label(`"label-value": 2`, `"label-value": 2.5`)},
		{rule: "label-colors", broken: label(`"label-value": 2`, `"value": 2`)},
		{rule: "label-colors", broken: label(`0, 255]`, `0, 256]`)},
		{rule: "label-colors", broken: label(`0, 255]`, `255]`)},
		{rule: "label-colors", broken: label(`"properties": [{"label-value": 1}`, `"properties": [{"label": 1}`)},
		{rule: "label-colors", broken: label(`"properties": [{"label-value": 1}, {"label-value": 1}]`, `"properties": {"1": 1}`)},
		{rule: "plate", broken: plate(`[{"name": "A"}`, `[{"name": "A-1"}`), right: plate(`[{"name": "A"}`, `[{"name": "B2"}`)},
		{rule: "plate", broken: plate(`{"name": "b2"}]`, `{"name": "b2"}, {"name": "b2"}]`)},
		{rule: "plate", broken: plate(`"wells": [`, `"well": [`)},
		{rule: "plate-well", broken: plate(`"rowIndex": 1`, `"rowIndex": 0`)},
		{rule: "plate-well", broken: plate(`"columnIndex": 0`, `"columnIndex": "0"`)},
		{rule: "plate-well", broken: plate(`"wells": [`, `"wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}, `)},
		{rule: "acquisition", broken: plate(`{"id": 0}`, `{"id": 4}`)},
		{rule: "acquisition", broken: plate(`{"id": 0}`, `{"id": "0"}`)},
		{rule: "acquisition", broken: well(`{"images": [{"path": "0", "acquisition": 1}]}`), right: well(`{"images": [{"path": "0", "acquisition": 0}]}`)},
		{rule: "acquisition", broken: well(`{"images": [{"path": "0"}]}`), right: plate(`{"id": 0}, `, "") + "\n" + well(`{"images": [{"path": "0"}]}`)},
		{rule: "well", broken: well(`{"images": [{"path": "1", "acquisition": 4}]}`)},
		{rule: "well", broken: well(`{"images": []}`)},
		{rule: "well", broken: well(`{"images": [{"path": "0/0", "acquisition": 4}]}`)},
	}.run(t, "ome", slide, 3)
}

func TestOMEImage(t *testing.T) {
	cases{
		{rule: "multiscales", broken: `/ group {"ome": {"version": "0.5", "multiscales": []}}`},
		{rule: "multiscales", broken: space("/", `"axes"`, `"axis"`) + `
			/0 uint8 8,8 y,x`},
		{rule: "multiscales", broken: space("/", `"datasets"`, `"data"`)},
		{rule: "axes", broken: space("/", `"name": "x"`, `"name": "y"`) + `
			/0 uint8 8,8 y,y
			/1 uint8 4,8 y,y`},
		{rule: "axes", broken: space("/", `"space"`, `"channel"`, `"unit"`, `"no unit"`), right: space("/", `[1, 1]`, `[1, 1, 1]`, `[2, 2]`, `[1, 2, 2]`, `[{"name": "y"`, `[{"name": "angle", "type": "angle"}, {"name": "y"`) + `
			/0 uint8 4,8,8 angle,y,x
			/1 uint8 4,4,4 angle,y,x`},
		{rule: "axes", broken: space("/", `"type": "space", "unit": "m"}, {"name": "x"`, `"type": "channel"}, {"name": "x"`)},
		{rule: "axes", broken: space("/", `[1, 1]`, `[1, 1, 1, 1]`, `[2, 2]`, `[1, 1, 2, 2]`, `[{"name": "y"`, `[{"name": "a", "type": "space", "unit": "m"}, {"name": "b", "type": "space", "unit": "m"}, {"name": "y"`) + `
			/0 uint8 4,4,8,8 a,b,y,x
			/1 uint8 4,4,4,4 a,b,y,x`},
		{rule: "axes-order", broken: space("/", `[1, 1]`, `[1, 1, 1]`, `[2, 2]`, `[1, 2, 2]`, `[{"name": "y"`, `[{"name": "c", "type": "channel"}, {"name": "t", "type": "time", "unit": "s"}, {"name": "y"`,
			`"scale": [1, 1]`, `"scale": [1, 1, 1, 1]`, `"scale": [2, 2]`, `"scale": [1, 1, 1, 1]`) + `
			/0 uint8 2,2,8,8 c,t,y,x
			/1 uint8 2,2,4,4 c,t,y,x`},
		{rule: "axis-type", broken: space("/", `, "unit": "m"}, {"name": "x"`, `}, {"name": "x"`)},
		{rule: "dataset", broken: space("/", `"path": "1"`, `"path": "2"`)},
		{rule: "dataset", broken: `/1 group`},
		{rule: "dataset", broken: space("/", `"path": "1"`, `"path": 1`)},
		{rule: "rank", broken: `/0 uint8 2,8,8 -
			/1 uint8 2,8,8 -`},
		{rule: "data-type", broken: `/1 uint16 4,4 y,x`},
		{rule: "levels-order", broken: `/1 uint8 4,9 y,x`, right: `/1 uint8 8,8 y,x`},
		{rule: "dimension-names", broken: `/1 uint8 4,8 x,y`},
		{rule: "dimension-names", broken: `/1 uint8 4,8 -`},
		{rule: "transformations", broken: space("/", `[1, 1]`, `[1]`)},
		{rule: "transformations", broken: space("/", `"type": "scale", "scale": [2, 2]`, `"type": "translation", "translation": [0, 0]`)},
		{rule: "transformations", broken: space("/", `{"type": "scale", "scale": [2, 2]}`, `{"type": "translation", "scale": [2, 2]}`)},
		{rule: "transformations", broken: space("/", `{"type": "scale", "scale": [2, 2]}`, ``)},
		{rule: "transformations", broken: space("/", `{"type": "scale", "scale": [2, 2]}`, `{"type": "scale", "scale": [2, 2]}, {"type": "scale", "scale": [2, 2]}`), right: space("/", `"scale": [2, 2]`, `"path": "scales"`)},
		{rule: "transformations", broken: space("/", `"datasets"`, `"coordinateTransformations": [], "datasets"`)},
		{rule: "scale", broken: space("/", `[2, 2]`, `[0, 2]`)},
		{rule: "omero", broken: space("/", `"multiscales"`, `"omero": {}, "multiscales"`)},
		{rule: "omero", broken: space("/", `"multiscales"`, `"omero": {"channels": [{"color": "red000", "window": {"min": 0, "max": 1, "start": 0, "end": 1}}]}, "multiscales"`), right: space("/", `"multiscales"`, `"omero": {"channels": []}, "multiscales"`)},
		{rule: "omero", broken: space("/", `"multiscales"`, `"omero": {"channels": [{"color": "000000", "window": {"min": 0, "max": 1, "start": 0}}]}, "multiscales"`)},
		{rule: "omero-channels", broken: space("/", `"multiscales"`, `"omero": {"channels": []}, "multiscales"`, `[1, 1]`, `[1, 1, 1]`, `[2, 2]`, `[1, 2, 2]`, `[{"name": "y"`, `[{"name": "c", "type": "channel"}, {"name": "y"`) + `
			/0 uint8 1,8,8 c,y,x
			/1 uint8 1,4,4 c,y,x`},
		// Later versions have other axes and transformations.
		{rule: "dataset", broken: space("/", `0.5`, `0.6`, `"axes"`, `"coordinateSystems"`, `"path": "1"`, `"path": "2"`, `[1, 1]`, `"new"`), right: space("/", `0.5`, `0.6`, `"axes"`, `"coordinateSystems"`, `[1, 1]`, `"new"`)},
		{rule: "placement", right: `/0 uint8 9,9 y,x`},
	}.run(t, "ome", flat, 3)
	cases{
		{rule: "transformations", broken: strings.ReplaceAll(strings.Split(old, "\n")[1], "[1, 1]", "[1]"), right: strings.ReplaceAll(strings.Split(old, "\n")[1], `"version": "0.4", `, "")},
		{rule: "transformations", broken: strings.ReplaceAll(strings.ReplaceAll(strings.Split(old, "\n")[1], "[1, 1]", "[1]"), `"version": "0.4", `, "")},
		{rule: "multiscales", broken: `/ group {"multiscales": [{"version": "0.4", "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": []}]}]}]}`, right: `/ group {"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]}
			/labels none
			/labels/cells none
			/labels/cells/0 none`},
		{rule: "labels", broken: `/labels group {"labels": ["gone"]}`, right: `/ group {"multiscales": [{"axes": ["y", "x"], "datasets": [{"path": "0"}]}]}
			/labels none
			/labels/cells none
			/labels/cells/0 none`},
		{rule: "label-type", broken: `/labels/cells/0 float32 8,8 -`},
	}.run(t, "ome", old, 2)
	cases{{rule: "placement", broken: old}}.run(t, "ome", "/ group", 3)
	cases{{rule: "placement", broken: flat + "/0 uint8 8,8 -"}}.run(t, "ome", "/ group", 2)
}
