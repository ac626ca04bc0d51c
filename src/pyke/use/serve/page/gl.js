// Points by WebGL: positions are two sets of coordinates and the share of the second one.

const VERTEX = `#version 300 es
in vec3 from, to;
in float group;
uniform float part, size, reach;
uniform vec3 right, up, front;
uniform vec2 centre, scale;
uniform vec4 colours[64];
out vec4 colour;
void main() {
  vec3 place = mix(from, to, part);
  vec2 flat_ = vec2(dot(place, right), dot(place, up));
  float near = reach > 0.0 ? clamp(dot(place, front) / reach, -1.0, 1.0) : 0.0;
  colour = colours[int(group)];
  gl_Position = vec4((flat_ - centre) * scale, 0.0, 1.0);
  if (colour.a == 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size * (1.0 + 0.35 * near);
  colour.a *= 1.0 + 0.4 * near;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float size;
out vec4 pixel;
void main() {
  float cover = 1.0;
  if (size > 2.5) {
    float radius = length(gl_PointCoord - 0.5);
    cover = smoothstep(0.5, 0.5 - 1.2 / size, radius);
  }
  float alpha = clamp(colour.a, 0.0, 1.0) * cover;
  pixel = vec4(colour.rgb * alpha, alpha);
}`;

export class Points {
  // null where WebGL is missing
  static on(canvas) {
    const gl = canvas.getContext("webgl2", {antialias: false, premultipliedAlpha: true, alpha: true});
    const points = gl ? new Points(gl) : null;
    return points?.works ? points : null;
  }

  constructor(gl) {
    this.gl = gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    this.works = gl.getProgramParameter(program, gl.LINK_STATUS);
    gl.useProgram(this.works ? program : null);
    const place = name => gl.getUniformLocation(program, name);
    const names = ["part", "size", "reach", "right", "up", "front", "centre", "scale", "colours"];
    this.at = Object.fromEntries(names.map(name => [name, place(name)]));
    this.buffers = {};
    for (const [name, width] of [["from", 3], ["to", 3], ["group", 1]]) {
      const buffer = gl.createBuffer(), slot = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, width, width === 1 ? gl.UNSIGNED_BYTE : gl.FLOAT, false, 0, 0);
      this.buffers[name] = buffer;
    }
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.count = 0;
  }

  fill(name, values) {
    const {gl} = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  // Later points cover earlier ones.
  sort(order) {
    const {gl} = this;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    this.count = order.length;
  }

  draw({width, height, part, size, reach, axes, centre, scale, colours, most}) {
    const {gl, at} = this, count = Math.min(this.count, most);
    if (gl.canvas.width !== width || gl.canvas.height !== height) {
      gl.canvas.width = width;
      gl.canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform1f(at.part, part);
    gl.uniform1f(at.size, size);
    gl.uniform1f(at.reach, reach);
    gl.uniform3fv(at.right, axes.right);
    gl.uniform3fv(at.up, axes.up);
    gl.uniform3fv(at.front, axes.front);
    gl.uniform2fv(at.centre, centre);
    gl.uniform2fv(at.scale, scale);
    gl.uniform4fv(at.colours, colours);
    gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 4 * (this.count - count));
  }
}
