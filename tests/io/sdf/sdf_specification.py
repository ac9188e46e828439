# ruff: noqa: E501  (model text)
"""The elements of SDFormat 1.6 to 1.11 inside those that robots are made of, from the specification."""

SPECIFICATION = {
    "sdf": "world model actor light",
    "world": "audio wind include gravity magnetic_field atmosphere gui physics scene light frame joint model actor plugin road"
    " spherical_coordinates state population",
    "model": "static self_collide allow_auto_disable include model enable_wind frame pose link joint plugin gripper",
    "link": "gravity enable_wind self_collide kinematic must_be_base_link velocity_decay frame pose inertial collision visual"
    " sensor projector audio_sink audio_source battery light particle_emitter plugin",
    "inertial": "mass density auto_inertia_params frame pose inertia fluid_added_mass",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "joint": "parent child gearbox_ratio gearbox_reference_body thread_pitch screw_thread_pitch axis axis2 physics frame pose"
    " sensor",
    "axis": "xyz initial_position use_parent_model_frame dynamics limit mimic",
    "axis2": "xyz initial_position use_parent_model_frame dynamics limit mimic",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "limit": "lower upper effort velocity stiffness dissipation",
    "mimic": "multiplier offset reference",
    "frame": "pose",
    "collision": "laser_retro max_contacts frame pose geometry surface density auto_inertia_params",
    "surface": "bounce friction contact soft_contact",
    "friction": "torsional ode bullet",
    "ode": "mu mu2 fdir1 slip1 slip2",
    "torsional": "coefficient use_patch_radius patch_radius surface_radius ode",
    "contact": "collide_without_contact collide_without_contact_bitmask collide_bitmask category_bitmask poissons_ratio"
    " elastic_modulus ode bullet",
    "visual": "cast_shadows laser_retro transparency visibility_flags meta frame pose material geometry plugin",
    "geometry": "empty box capsule cone cylinder ellipsoid heightmap image mesh plane polyline sphere",
    "box": "size",
    "capsule": "radius length",
    "cylinder": "radius length",
    "ellipsoid": "radii",
    "mesh": "uri submesh scale convex_decomposition",
    "plane": "normal size",
    "sphere": "radius",
}  # fmt: skip
"""By an element: its children."""

INERT = [
    "self_collide", "allow_auto_disable", "audio", "magnetic_field", "gui", "scene", "light", "road", "spherical_coordinates",
    "sensor", "projector", "audio_sink", "audio_source", "battery", "particle_emitter", "laser_retro", "max_contacts",
    "cast_shadows", "transparency", "visibility_flags", "meta", "material", "convex_decomposition",
]  # fmt: skip
"""Elements that say nothing about how a robot moves."""

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
ROBOT = f"""<sdf version="1.11"><world name="w"><gravity>0 0 -9.81</gravity><model name="m">
<frame name="f"><pose>0 0 0.3 0 0 0</pose></frame>
<link name="a">{INERTIAL}</link>
<link name="b"><pose relative_to="f">0.1 0 0 0 0 0</pose>{INERTIAL}
<visual name="v"><geometry>GEOMETRY</geometry></visual><collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry>
<surface><friction><ode><mu>0.7</mu></ode><torsional><coefficient>0.5</coefficient><patch_radius>0.02</patch_radius></torsional></friction>
<contact><collide_bitmask>3</collide_bitmask></contact></surface></collision></link>
<link name="c"><pose>0.5 0 0 0 0 0</pose>{INERTIAL}</link>
<link name="d"><pose>0.5 0 0 0 0 0</pose>{INERTIAL}</link>
<joint name="j" type="screw"><parent>a</parent><child>b</child><pose>0 0 0 0.5 0 0</pose><axis><xyz>0 1 0</xyz><dynamics><damping>0</damping></dynamics>
<limit><lower>-1</lower></limit></axis></joint>
<joint name="k" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>1</spring_stiffness></dynamics>
<mimic joint="j"><multiplier>2</multiplier></mimic></axis></joint>
<joint name="u" type="universal"><parent>c</parent><child>d</child><pose>0 0 0 0.5 0 0</pose><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
</model></world></sdf>"""
SHAPES = {
    "box": "<box><size>1 1 1</size></box>",
    "capsule": "<capsule><radius>1</radius><length>1</length></capsule>",
    "cylinder": "<cylinder><radius>1</radius><length>1</length></cylinder>",
    "ellipsoid": "<ellipsoid><radii>1 1 1</radii></ellipsoid>",
    "mesh": "<mesh><uri>x.stl</uri></mesh>",
    "plane": "<plane><size>1 1</size></plane>",
    "sphere": "<sphere><radius>1</radius></sphere>",
}

GEAR = (
    f'<link name="e">{INERTIAL}</link><joint name="x" type="revolute"><parent>a</parent><child>e</child></joint>'
    '<joint name="g" type="gearbox"><parent>e</parent><child>c</child><axis/><axis2/>'
    "<gearbox_reference_body>a</gearbox_reference_body>{}</joint></model>"
)
CHANGES = {
    ("sdf", "world"): ("<gravity>0 0 -9.81</gravity>", ""),
    ("sdf", "model"): ('name="m"', 'name="n"'),
    ("world", "model"): ('name="m"', 'name="n"'),
    ("world", "frame"): ('<model name="m">', '<frame name="wf"><pose>1 0 0 0 0 0</pose></frame><model name="m"><pose relative_to="wf"/>'),
    ("world", "joint"): ("</world>", "<joint name='wj' type='fixed'><parent>world</parent><child>m::a</child></joint></world>"),
    ("model", "model"): ("</model>", f'<model name="n"><link name="a">{INERTIAL}</link></model></model>'),
    ("world", "gravity"): ("-9.81", "-1.6"),
    ("model", "static"): ('<model name="m">', '<model name="m"><static>true</static>'),
    ("model", "pose"): ('<model name="m">', '<model name="m"><pose>1 2 3 0.1 0.2 0.3</pose>'),
    ("model", "frame"): ("0 0 0.3 0 0 0", "0 0 0.4 0 0 0"),
    ("model", "link"): (f'<link name="d"><pose>0.5 0 0 0 0 0</pose>{INERTIAL}', '<link name="d">'),
    ("model", "joint"): ("screw", "revolute"),
    ("link", "pose"): ("0.1 0 0 0 0 0", "0.2 0 0 0 0 0"),
    ("link", "inertial"): (INERTIAL, "<inertial><mass>3</mass></inertial>"),
    ("link", "collision"): ("<collision name", "<collision name='e'><geometry><box/></geometry></collision><collision name"),
    ("link", "visual"): ("<visual name", "<visual name='e'><geometry><box/></geometry></visual><visual name"),
    ("inertial", "mass"): ("<mass>1</mass>", "<mass>2</mass>"),
    ("inertial", "pose"): ("<mass>1</mass>", "<mass>1</mass><pose>1 0 0 0 0 0</pose>"),
    ("inertial", "inertia"): ("<inertia>", "<inertia><ixy>0.001</ixy>"),
    **{("inertia", k): (f"<{k}>0.1<", f"<{k}>0.11<") for k in ("ixx", "iyy", "izz")},
    **{("inertia", k): ("<inertia>", f"<inertia><{k}>0.001</{k}>") for k in ("ixy", "ixz", "iyz")},
    ("joint", "parent"): ("<parent>c</parent>", "<parent>a</parent>"),
    ("joint", "child"): ("<child>c</child>", "<child>d</child>"),
    ("joint", "pose"): ("<parent>a</parent>", "<parent>a</parent><pose>0.1 0 0 0 0 0</pose>"),
    ("joint", "gearbox_ratio"): ("</model>", GEAR.replace("{}", "<gearbox_ratio>3</gearbox_ratio>")),
    ("joint", "gearbox_reference_body"): ("</model>", GEAR.replace("{}", "")),
    ("joint", "thread_pitch"): ("<parent>a", "<thread_pitch>-3</thread_pitch><parent>a"),
    ("joint", "screw_thread_pitch"): ("<parent>a", "<screw_thread_pitch>0.1</screw_thread_pitch><parent>a"),
    ("joint", "axis"): ("<xyz>0 0 1</xyz>", "<xyz>1 0 1</xyz>"),
    ("joint", "axis2"): ("<axis2><xyz>0 1 0</xyz>", "<axis2><xyz>0 1 1</xyz>"),
    ("axis", "xyz"): ("<xyz>0 0 1</xyz>", "<xyz>1 0 1</xyz>"),
    ("axis2", "xyz"): ("<axis2><xyz>0 1 0</xyz>", "<axis2><xyz>0 1 1</xyz>"),
    ("axis", "use_parent_model_frame"): ("<axis>", "<axis><use_parent_model_frame>1</use_parent_model_frame>"),
    ("axis2", "use_parent_model_frame"): ("<axis2>", "<axis2><use_parent_model_frame>1</use_parent_model_frame>"),
    ("axis", "dynamics"): ("<damping>0<", "<damping>0.5<"),
    ("axis", "limit"): ("<lower>-1<", "<lower>-2<"),
    ("axis", "mimic"): ('<mimic joint="j"><multiplier>2</multiplier></mimic>', ""),
    ("dynamics", "damping"): ("<damping>0<", "<damping>0.5<"),
    ("dynamics", "friction"): ("<damping>0<", "<friction>0.5</friction><damping>0<"),
    ("dynamics", "spring_stiffness"): ("<spring_stiffness>1<", "<spring_stiffness>2<"),
    ("dynamics", "spring_reference"): ("<spring_stiffness>", "<spring_reference>0.1</spring_reference><spring_stiffness>"),
    ("limit", "lower"): ("<lower>-1<", "<lower>-2<"),
    ("limit", "upper"): ("<lower>", "<upper>3</upper><lower>"),
    ("limit", "effort"): ("<lower>", "<effort>3</effort><lower>"),
    ("limit", "velocity"): ("<lower>", "<velocity>3</velocity><lower>"),
    ("mimic", "multiplier"): ("<multiplier>2<", "<multiplier>3<"),
    ("mimic", "offset"): ("<multiplier>2", "<offset>0.1</offset><multiplier>2"),
    ("mimic", "reference"): ("<multiplier>2", "<reference>0.1</reference><multiplier>2"),
    ("frame", "pose"): ("0 0 0.3 0 0 0", "0 0 0.4 0 0 0"),
    ("collision", "pose"): ('<collision name="c">', '<collision name="c"><pose>1 0 0 0 0 0</pose>'),
    ("visual", "pose"): ('<visual name="v">', '<visual name="v"><pose>1 0 0 0 0 0</pose>'),
    ("collision", "geometry"): ("<radius>1", "<radius>2"),
    ("collision", "surface"): ("<mu>0.7", "<mu>0.8"),
    ("surface", "friction"): ("<friction><ode><mu>0.7</mu></ode>", "<friction>"),
    ("surface", "contact"): ("<contact><collide_bitmask>3</collide_bitmask></contact>", ""),
    ("friction", "ode"): ("<ode><mu>0.7</mu></ode>", ""), ("friction", "torsional"): ("<coefficient>0.5", "<coefficient>0.6"),
    ("ode", "mu"): ("<mu>0.7", "<mu>0.8"), ("ode", "mu2"): ("<ode>", "<ode><mu2>0.1</mu2>"),
    ("ode", "fdir1"): ("<ode>", "<ode><fdir1>1 0 0</fdir1>"),
    ("torsional", "coefficient"): ("<coefficient>0.5", "<coefficient>0.6"),
    ("torsional", "patch_radius"): ("<patch_radius>0.02", "<patch_radius>0.03"),
    ("torsional", "use_patch_radius"): ("<torsional>", "<torsional><use_patch_radius>false</use_patch_radius>"),
    ("contact", "collide_bitmask"): ("<collide_bitmask>3", "<collide_bitmask>1"),
    ("visual", "geometry"): ("<size>1 1 1", "<size>2 1 1"),
    **{("geometry", k): (SHAPES["box"], v) for k, v in SHAPES.items() if k != "box"},
    ("geometry", "box"): ("<size>1 1 1", "<size>2 1 1"),
    ("box", "size"): ("<size>1 1 1", "<size>2 1 1"),
    ("capsule", "radius"): ("<radius>1", "<radius>2"), ("capsule", "length"): ("<length>1", "<length>2"),
    ("cylinder", "radius"): ("<radius>1", "<radius>2"), ("cylinder", "length"): ("<length>1", "<length>2"),
    ("ellipsoid", "radii"): ("<radii>1 1 1", "<radii>2 1 1"), ("sphere", "radius"): ("<radius>1", "<radius>2"),
    ("plane", "size"): ("<size>1 1", "<size>2 1"), ("mesh", "uri"): ("x.stl", "y.stl"),
    ("mesh", "scale"): ("<uri>", "<scale>2 2 2</scale><uri>"),
}  # fmt: skip
"""For elements that are read: what to replace in the robot so that only this element changes, and by what."""


def robot(shape: str = "box") -> str:
    """A robot in which every element that has children stands."""
    return ROBOT.replace("GEOMETRY", SHAPES[shape])


def with_element(parent: str, tag: str) -> str:
    """The robot with one element more, which says something that is not its default."""
    text = robot(parent if parent in SHAPES else "box")
    values = {
        "gravity": "false",
        "must_be_base_link": "true",
        "kinematic": "true",
        "enable_wind": "true",
        "normal": "1 0 0",
    }
    what = values.get(tag, "0.5" if parent in ("axis", "axis2", "limit") else "<x/>")
    if parent == "frame" or (parent, tag) == ("sdf", "world"):
        raise KeyError(f"{tag} in {parent}")
    at = text.index(f"<{parent} ") if f"<{parent} " in text else text.index(f"<{parent}>")
    end = text.index(">", at) + 1
    return f'{text[:end]}<{tag} name="x">{what}</{tag}>{text[end:]}'
