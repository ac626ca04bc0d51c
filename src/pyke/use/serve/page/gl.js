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

const BUDGET = 16, FEWEST = 4000, FIRST = 20000;  // milliseconds of a picture, points
const PATIENCE = 2000;  // milliseconds until a picture counts as lost
const LOOK = 2;         // milliseconds between two looks whether a picture is finished

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
    gl.clearColor(0, 0, 0, 0);
    this.behind = {frame: gl.createFramebuffer(), store: gl.createRenderbuffer()};
    this.count = this.grey = this.drawn = 0;
    this.most = FIRST;     // points that this computer draws in time
    this.running = null;   // the picture that is not finished
    this.finished = [];    // when the latest pictures were finished
  }

  fill(name, values) {
    const {gl} = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  }

  // Later points cover earlier ones. The first ones are grey; both parts are in random order.
  sort(order, grey) {
    const {gl} = this;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
    this.count = order.length;
    this.grey = grey;
  }

  get isWhole() { return this.drawn === this.count; }

  // A picture at once: a sample of the points if this computer is too slow for all.
  draw({width, height, size, ...view}) {
    const {gl} = this, share = this.most < this.count ? this.most / this.count : 1;
    if (gl.canvas.width !== width || gl.canvas.height !== height) {
      gl.canvas.width = width;
      gl.canvas.height = height;
    }
    gl.viewport(0, 0, width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.look(view);
    gl.uniform1f(this.at.size, size * Math.min(3, share ** -0.35));
    let points = 0;
    for (const [first, last] of [[0, this.grey], [this.grey, this.count]]) {
      const some = Math.ceil(share * (last - first));
      gl.drawElements(gl.POINTS, some, gl.UNSIGNED_INT, 4 * (last - some));
      points += some;
    }
    gl.uniform1f(this.at.size, size);
    this.drawn = share < 1 ? 0 : this.count;
    this.watch(points);
  }

  // The picture of all points: some more with each call, on a hidden one that is shown when complete.
  refine() {
    const {gl} = this, {width, height} = gl.canvas, some = Math.min(2 * this.most, this.count - this.drawn);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.behind.frame);
    if (!this.drawn) {
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.behind.store);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.behind.store);
      gl.clear(gl.COLOR_BUFFER_BIT);
    }
    gl.drawElements(gl.POINTS, some, gl.UNSIGNED_INT, 4 * this.drawn);
    this.drawn += some;
    if (this.isWhole) {
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
      gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    }
    this.watch(some);
  }

  look({part, reach, axes, centre, scale, colours}) {
    const {gl, at} = this;
    gl.uniform1f(at.part, part);
    gl.uniform1f(at.reach, reach);
    gl.uniform3fv(at.right, axes.right);
    gl.uniform3fv(at.up, axes.up);
    gl.uniform3fv(at.front, axes.front);
    gl.uniform2fv(at.centre, centre);
    gl.uniform2fv(at.scale, scale);
    gl.uniform4fv(at.colours, colours);
  }

  // Whether a picture is being drawn; the browser would queue another one.
  get isBusy() { return this.running !== null; }

  // Wait until some points are drawn, and choose how many are drawn next time.
  watch(points) {
    const {gl} = this, began = performance.now(), mine = this.running = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    const look = () => {
      const now = performance.now(), took = Math.max(now - began, 1);
      const done = gl.isContextLost() || gl.getSyncParameter(mine, gl.SYNC_STATUS) === gl.SIGNALED;
      if (!done && took < PATIENCE) { setTimeout(look, LOOK); return; }
      gl.deleteSync(mine);
      this.running = null;
      this.finished.push(now);
      if (this.finished.length > 1000) this.finished.splice(0, 500);
      const fit = Math.max(FEWEST, points * BUDGET / took);
      if (fit < this.most || points > this.most / 2) {
        this.most = Math.round(Math.min(Math.sqrt(this.most * fit), 4 * this.most));
      }
    };
    setTimeout(look, LOOK);
  }
}
