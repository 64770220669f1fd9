package interop

import ("testing";"time")

func TestZZ(t *testing.T) {
	b := browse(t, served(t, pageNodes(t)).URL)
	b.open("/mask")
	time.Sleep(3*time.Second)
	t.Log(eval[string](b, `(() => { const c = document.querySelector('canvas.picture'); const gl = c.getContext('webgl2'); const p = gl.getParameter(gl.CURRENT_PROGRAM); const out = []; out.push('err ' + gl.getError()); 
	for (const n of ['values','states','colours','range','categories','size','marked']) out.push(n + ' ' + String(gl.getUniform(p, gl.getUniformLocation(p, n))));
	gl.activeTexture(gl.TEXTURE2); const tex = gl.getParameter(gl.TEXTURE_BINDING_2D); out.push('tex ' + tex); 
	const fb = gl.createFramebuffer(); gl.bindFramebuffer(gl.FRAMEBUFFER, fb); gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, tex, 0); const px = new Uint8Array(16); gl.readPixels(0,0,4,1,gl.RGBA,gl.UNSIGNED_BYTE,px); out.push(px.join()); out.push('err ' + gl.getError()); out.push(c.width+'x'+c.height); return out.join('\n') })()`))
	t.Log(b.complaints)
}
